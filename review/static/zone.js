// Stores the browser's time zone, so that the next page shows times in it. Without it, times are in UTC.
"use strict";

(() => {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone || "";
  if (!/^[A-Za-z0-9_+/-]{1,64}$/.test(zone)) return;
  const cookie = `hushgate-zone=${zone}`;
  if (document.cookie.split("; ").includes(cookie)) return;
  document.cookie = `${cookie}; Path=/; Max-Age=31536000; SameSite=Lax; Secure`;
})();
