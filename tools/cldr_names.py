"""Writes ``worker/assessment/reading/cldr_names.json`` from Babel's CLDR: ``python -m tools.cldr_names``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from babel import Locale

TARGET: Final = Path(__file__).parent.parent / "worker" / "assessment" / "reading" / "cldr_names.json"
LANGUAGES: Final = ("en", "de", "fr", "es", "it", "pt", "nl", "pl", "vi", "zh", "ja", "ko", "tr", "ar", "ru",
             "hi")  # fmt: skip
SHORT_IN: Final = frozenset(LANGUAGES) - {"tr", "ar", "hi"}
"""Languages with abbreviated days; the Turkish "per" is a word in others, the Arabic ones are whole."""
CAPITALS_IN: Final = ("nl", "tr")
"""Languages beside English that write names of languages, and only some nouns, with a capital letter."""
LETTERS_OF_CODE: Final = 2
"""Of the codes of well-known languages."""
FORMS: Final = (
    ("poniedziałku poniedziałki", "wtorku wtorki", "środę środy", "czwartku czwartki", "piątku piątki",
     "sobotę soboty", "niedzielę niedziele niedzieli"),
    ("понедельника понедельникам", "вторника вторникам", "среду среды средам", "четверга четвергам",
     "пятницу пятницы пятницам", "субботу субботы субботам", "воскресенья воскресеньям"),
    ("pazartesiden pazartesiye pazartesileri", "salıdan salıya salıları",
     "çarşambadan çarşambaya çarşambaları", "perşembeden perşembeye perşembeleri", "cumadan cumaya cumaları",
     "cumartesiden cumartesiye cumartesileri", "pazardan pazara pazarları"),
    ("والاثنين الإثنين والإثنين", "والثلاثاء", "والأربعاء الاربعاء والاربعاء", "والخميس", "والجمعة", "والسبت",
     "والأحد الاحد والاحد"),
)  # fmt: skip
"""Forms of the days from Monday on that CLDR lacks: cases, and the Arabic "and"."""

MONTH_FORMS: Final = (
    "styczniu lutym marcu kwietniu maju czerwcu lipcu sierpniu wrześniu październiku listopadzie grudniu",
    "январе феврале марте апреле мае июне июле августе сентябре октябре ноябре декабре",
    "ocaktan şubattan marttan nisandan mayıstan hazirandan temmuzdan ağustostan eylülden ekimden kasımdan"
    " aralıktan",
    "ocağa şubata mart nisana mayısa hazirana temmuza ağustosa eylüle ekime kasıma aralığa",
    "ocakta şubatta martta nisanda mayısta haziranda temmuzda ağustosta eylülde ekimde kasımda aralıkta",
)
"""Cases of the months from January on that CLDR lacks; "marta" is a name."""


def main() -> None:
    """Write the file."""
    dates: dict[str, str] = {}
    short_days: dict[str, str] = {}
    for locale in map(Locale.parse, LANGUAGES):
        for width in ("stand-alone", "format"):
            for number, word in locale.days[width]["wide"].items():
                dates.setdefault(word, f"day{number}")
            for number, word in locale.months[width]["wide"].items():
                dates.setdefault(word, f"month{number}")
        for number, word in (
            locale.days["format"]["abbreviated"].items() if locale.language in SHORT_IN else ()
        ):
            short_days.setdefault(word.rstrip("."), f"day{number}")
    for number, forms in ((number, forms) for days in FORMS for number, forms in enumerate(days)):
        dates |= dict.fromkeys(forms.split(), f"day{number}")
    for number, word in (
        (number, word) for each in MONTH_FORMS for number, word in enumerate(each.split(), 1)
    ):
        dates.setdefault(word, f"month{number}")
    short_days |= {
        word: f"day{number}" for number, word in Locale.parse("vi").days["format"]["short"].items()
    }
    languages = {*Locale.parse("en").languages.values()}
    for locale in map(Locale.parse, CAPITALS_IN):
        languages |= {name for code, name in locale.languages.items() if len(code) == LETTERS_OF_CODE}
    names = {"dates": dates, "short_days": short_days, "languages": sorted(languages)}
    text = json.dumps(names, ensure_ascii=False, indent=0)
    TARGET.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
