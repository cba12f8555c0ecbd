// Keys and small conveniences; every page works without this file.
"use strict";
