"""The top-level domains by which a name without a scheme is a link.

Countries, the generic ones open to registration, and names of private networks. A brand's own domain is
missing: its names lead to the brand, and many are words.
"""

from __future__ import annotations

from typing import Final

_COUNTRIES: Final = (
    "ac ad ae af ag ai al am ao aq ar as at au aw ax az ba bb bd be bf bg bh bi bj bm bn bo br bs bt bv "
    "bw by bz ca cc cd cf cg ch ci ck cl cm cn co cr cu cv cw cx cy cz de dj dk dm do dz ec ee eg er es "
    "et eu fi fj fk fm fo fr ga gb gd ge gf gg gh gi gl gm gn gp gq gr gs gt gu gw gy hk hm hn hr ht hu "
    "id ie il im in io iq ir is it je jm jo jp ke kg kh ki km kn kp kr kw ky kz la lb lc li lk lr ls lt "
    "lu lv ly ma mc md me mg mh mk ml mm mn mo mp mq mr ms mt mu mv mw mx my mz na nc ne nf ng ni nl no "
    "np nr nu nz om pa pe pf pg ph pk pl pm pn pr ps pt pw py qa re ro rs ru rw sa sb sc sd se sg sh si "
    "sj sk sl sm sn so sr ss st su sv sx sy sz tc td tf tg th tj tk tl tm tn to tr tt tv tw tz ua ug uk "
    "us uy uz va vc ve vg vi vn vu wf ws ye yt za zm zw "
)
_GENERIC: Final = (
    "academy accountant accountants actor adult agency airforce apartments app archi army art asia "
    "associates attorney auction audio auto autos baby band bar bargains beauty beer berlin best bet bid "
    "bike bingo bio biz black blog blue boats bond boo boston boutique broker build builders business "
    "buzz cab cafe cam camera camp capital car cards care career careers cars casa cash casino cat "
    "catering center ceo channel charity chat cheap christmas church city claims cleaning click clinic "
    "clothing cloud club coach codes coffee college cologne com community company compare computer condos "
    "construction consulting contact contractors cooking cool coop country coupons courses credit "
    "creditcard cricket cruises cyou dad dance date dating day deal dealer deals degree delivery democrat "
    "dental dentist desi design dev diamonds diet digital direct directory discount diy doctor dog "
    "domains download earth eat eco edu education email energy engineer engineering enterprises equipment "
    "esq estate eus events exchange expert exposed express fail faith family fan fans farm fashion "
    "feedback film finance financial fish fishing fit fitness flights florist flowers fm foo football "
    "forex forsale forum foundation free fun fund furniture futbol fyi gallery game games garden gay gent "
    "gift gifts gives glass global gmbh gold golf gov graphics gratis green gripe group guide guitars "
    "guru hair hamburg haus health healthcare help hiphop hiv hockey holdings holiday homes horse "
    "hospital host hosting hot house how icu immo immobilien inc industries info ing ink institute "
    "insurance insure int international investments io irish jetzt jewelry jobs juegos kaufen kim kitchen "
    "kiwi koeln krd kyoto land lat law lawyer lease legal lgbt life lighting limited limo link live "
    "living llc loan loans locker lol london lotto love ltd ltda luxe luxury maison makeup management "
    "market marketing mba media melbourne meme memorial men menu miami mil mobi moda moe mom money "
    "monster mortgage moscow motorcycles mov movie museum music nagoya name navy net network new news ngo "
    "ninja now nyc observer one ong online ooo org organic osaka page paris partners parts party pet phd "
    "photo photography photos pics pictures pink pizza place plumbing plus poker porn post press pro "
    "productions prof promo properties property pub quest racing realty recipes red rehab reise reisen "
    "rent rentals repair report republican rest restaurant review reviews rip rocks rodeo rsvp rugby run "
    "ryukyu sale salon sarl sbs school schule science security select services sex sexy shoes shop "
    "shopping show singles site ski skin soccer social software solar solutions soy spa space spot "
    "storage store stream studio study style sucks supplies supply support surf surgery sydney systems "
    "tattoo tax taxi team tech technology tennis theater theatre tickets tienda tips tires today tokyo "
    "tools top tours town toys trade trading training travel tube university uno vacations ventures vet "
    "viajes video villas vin vip vision vlaanderen vodka vote voting voto voyage wales wang watch webcam "
    "website wedding wien wiki win wine work works world wtf xin xxx xyz yachts yoga yokohama you zip "
    "zone "
)
_PRIVATE: Final = "example internal intranet invalid lan local localhost onion test"
_OTHER_SCRIPTS: Final = "рф рус бел укр мкд срб мон москва дети онлайн сайт орг ком ευ ελ бг"
TOP_LEVEL: Final = frozenset(f"{_COUNTRIES} {_GENERIC} {_PRIVATE} {_OTHER_SCRIPTS}".split())
