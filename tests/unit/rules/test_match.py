"""What fires and what does not, by family of evasion and by script."""

import pytest

from worker.model import RuleLevel
from worker.rules import RuleKind, compile_rules

FIRES = [
    ("spam", "this is spam!", "exact"),
    ("spam", "SPAM", "case"),
    ("cabrón", "eres un cabron", "accent"),
    ("straße", "STRASSE", "case+variant"),
    ("porn", "ｐｏｒｎ", "width"),
    ("casino", "ⓒⓐⓢⓘⓝⓞ", "width"),
    ("wanker", "🅆🄰🄽🄺🄴🅁", "width"),
    ("scammer", "sсаmmеr", "homoglyph"),
    ("viagra", "v1@gr4", "leet"),
    ("kill yourself", "k111 y0ur$31f", "leet"),
    ("casino", "caaaasiiino", "repeat"),
    ("viagra", "v.i.a.g.r.a", "separated"),
    ("viagra", "v i a g r a", "separated"),
    ("slut", "you are a s l u t", "separated"),
    ("wanker", "w @ n k 3 r", "leet+separated"),
    ("porn", "p\u200bo\u200br\u200bn", "invisible"),
    ("free crypto", "free---crypto", "exact"),
    ("free crypto", "free\ncrypto", "exact"),
    ("сука", "ну ты с*у*к*а", "separated"),
    ("μαλάκας", "ΜΑΛΑΚΑΣ", "case+accent"),
    ("pislik", "sen PİSLİK misin", "case+accent"),
    ("قمار", "هذا قِمَار ممنوع", "accent"),
    ("چوتیا", "چوتیا", "exact"),
    ("चूतिया", "तुम चू ति या हो", "separated"),
    ("赌博", "这里有赌博网站", "exact"),
    ("赌博", "这里有赌*博网站", "separated"),
    ("賭博", "这里有赌博网站", "variant"),
    ("พนัน", "เล่นพนันบอล", "exact"),
    ("エロ", "エロ動画を見る", "exact"),
    ("바보", "너 바보야", "exact"),
    ("바보", "너 바 보 야", "separated"),
    ("#test", "x#test", "exact"),
    ("🍆", "look 🍆 here", "exact"),
    ("a$$", "what an a$$", "exact"),
    ("/fr[e3]+ money/", "get FREEE money", "regex"),
    ("shut up", "shut up!!!", "exact"),
    ("viagra", "buy via||gra|| now", "hidden"),
    ("viagra", "**v**iagra", "hidden"),
    ("viagra", "_v_**i**agra", "hidden"),
    ("viagra", "via~~gra~~", "hidden"),
    ("viagra", "v*i*agra", "hidden"),
    ("viagra", "<b>v</b>iagra", "hidden"),
    ("viagra", "[via](https://x.example)gra", "hidden"),
    ("viagra", "**v**1agra", "leet+hidden"),
    ("buy now", "**b**uy *n*ow", "hidden"),
    ("viagra", "via\ngra", "broken"),
    ("viagra", "via-\ngra", "broken"),
    ("viagra", "via\u2028gra", "broken"),
    ("viagra", "via\rgra", "broken"),
    ("viagra", "get \u202eargaiv\u202c here", "hidden"),
    ("viagra", "\u202eargaiv", "hidden"),
    ("viagra", "via\u202earg\u202c", "hidden"),
    ("/v.agra/", "**v**iagra", "regex+hidden"),
    ("buy viagra", "Hi" + "".join(chr(0xE0000 + ord(char)) for char in "buy viagra"), "hidden"),
    ("viagra", "🇻🇮🇦🇬🇷🇦", "homoglyph"),
    ("🇩🇪", "Greetings from 🇩🇪!", "exact"),
    ("casino", "¡c4sino!", "leet"),
    ("casino", "c~a~s~!~n~o!!", "leet+separated"),
    ("viagra", "$$$viagra$$$", "exact"),
    ("cash", "$cash$", "exact"),
    ("loser", "you loser!!1!", "exact"),
    ("loser", "the loser(s)", "exact"),
    ("gratis geld", "9r@7is 931d", "leet"),
    ("facili", "fac!1iiii", "leet+repeat"),
    ("casino", "que C A S I N O c'est", "case+separated"),
    ("idiot", "que i*d-i~o_t e", "separated"),
    ("lừa đảo", "may bi lua dao roi", "accent+variant"),
    ("bậy", "dung noi bay ba nhu the", "accent"),
]

SILENT = [
    ("scam", "We ship to 🇸🇨🇦🇲"),
    ("nude", "Team 🇳🇺🇩🇪"),
    ("meth", "🇲🇪🇹🇭 friends"),
    ("it", "Visit 🇮🇹"),
    ("de", "Greetings from 🇩🇪!"),
    ("🇩🇪", "de"),
    ("gbeng", "🏴󠁧󠁢󠁥󠁮󠁧󠁿 England"),
    ("viagra", "via\n\ngra"),
    ("an al", "ban\nal"),
    ("twit", "t\nwit"),
    ("ass", "class assassin Scunthorpe passion"),
    ("cunt", "Scunthorpe"),
    ("sex", "Sussex"),
    ("dick", "Dickens"),
    ("kut", "prikut"),
    ("hure", "Fuhre"),
    ("con", "balcon"),
    ("puta", "computadora"),
    ("хер", "Херсон"),
    ("бля", "два рубля"),
    ("twat", "hot water"),
    ("ass", "c l a s s"),
    ("rape", "g.r.a.p.e"),
    ("tit", "t_i_t_@_n"),
    ("boob", "the 80085 bus"),
    ("tits", "717 5"),
    ("ass", "the A55 road"),
    ("psa", "a PS4 game"),
    ("ist", "the 1st"),
    ("sam", "$4m of grants"),
    ("us", "U.S.A. citizens"),
    ("god", "good morning"),
    ("wiling", "I am willing"),
    ("hello", "heiio"),
    ("iie", "lle"),
    ("ass", "c|ass"),
    ("hell", "he'll"),
    ("don", "don't"),
    ("pot", "у него большой рот"),
    ("dong", "hợp đồng lâu dài và có thể được"),
    ("色情", "特色情景教学"),
    ("口交", "人口交流中心"),
    ("ห่า", "บ้านอยู่ห่างไกล"),
    ("エロ", "ピエロが来た"),
    ("개", "날개가 있다"),
    ("开", "关"),
    ("bậy", "the Bay is blue"),
    ("göt", "I got it"),
    ("lån", "in Lan Kwai"),
    ("lån", "một lần nữa tôi không thể"),
    ("ngu", "con ngủ đi để mẹ nhờ"),
    ("đụ", "phim dụ dỗ được chiếu lại"),
    ("nal", "@n4l was duidelijk"),
    ("scun", "to Scun+horp3 now"),
    ("стр", "за б·ы·с·т·р·ы·й ответ"),
    ("bottl", "a Ƅᴏ𝐭ｔӏ℮, please"),
    ("il", "will"),
]


@pytest.mark.parametrize(("rule", "text", "how"), FIRES)
def test_rule_fires_and_says_how(rule: str, text: str, how: str) -> None:
    """A rule fires on every spelling a reader takes for it, and names the disguise."""
    hits = compile_rules([rule], version=3).match(text)

    assert [(hit.rule, hit.how, hit.version) for hit in hits] == [(rule, how, 3)]


@pytest.mark.parametrize(("rule", "text", "how"), FIRES)
def test_span_is_the_original_text(rule: str, text: str, how: str) -> None:
    """The span of a hit cuts the matched text out of the original message."""
    hits = compile_rules([rule], version=1).match(f"😀 {text} 😀")

    assert [text for hit in hits if hit.text == f"😀 {text} 😀"[hit.start : hit.end]] == [text]


@pytest.mark.parametrize(("rule", "text"), SILENT)
def test_rule_stays_silent_on_innocent_text(rule: str, text: str) -> None:
    """A rule does not fire inside other words, numbers, names and other languages."""
    hits = compile_rules([rule], version=1).match(text)

    assert hits == ()


@pytest.mark.parametrize(
    ("rule", "text", "fires"),
    [
        ("hora {exact_accents}", "höra musik", False),
        ("hora {exact_accents}", "en HORA", True),
        ("viagra {no_leet}", "v1agra", False),
        ("viagra {no_spacing}", "v i a g r a", False),
        ("IT {case}", "it is", False),
        ("IT {case}", "the IT team", True),
        ("spam {substring}", "antispammer", True),
        ("spam {substring}", "s p a m", False),
        ("cat*", "Catapult", True),
        ("cat*", "location", False),
        ("*cat", "bobcat", True),
        ("*cat", "catch", False),
        ("*cat*", "location", True),
        ("buy {starts}", "buy now", True),
        ("buy {starts}", "I buy", False),
        ("now {ends}", "buy now", True),
        ("first {full}", "  First... ", True),
        ("first {full_exact}", "first!", False),
    ],
)
def test_wildcards_and_switches(rule: str, text: str, fires: bool) -> None:
    """Wildcards open an edge of the rule, switches take a folding away."""
    hits = compile_rules([rule], version=1).match(text)

    assert bool(hits) is fires


def test_allowed_text_cancels_hits_inside_it() -> None:
    """A hit inside an allow-list entry is no hit; elsewhere it stays one."""
    rules = compile_rules(["dick"], ["van dyke"], allow=["Dick van Dyke"], version=1)

    assert [hit.start for hit in rules.match("Dick Van Dyke is a dick")] == [19]


def test_allow_switch_in_a_keyword_is_an_allow_list_entry() -> None:
    """An entry may live among the keywords, written with its switch."""
    rules = compile_rules(["ass", "smart ass {allow}"], version=1)

    assert rules.match("a smart ass") == ()


def test_disguised_allow_entry_cancels_nothing() -> None:
    """An allow-list entry is never found by leet or spacing, or spammers would use it."""
    rules = compile_rules(["viagra"], allow=["buy viagra here"], version=1)

    assert len(rules.match("8uy viagra here")) == 1


def test_label_names_the_kind_and_the_rule() -> None:
    """The label stored with a decision is the rule as written."""
    hits = compile_rules(["spam"], ["free money"], version=1).match("spam, free money")

    assert [hit.label for hit in hits] == ["flagged_keyword:spam", "flagged_phrase:free money"]


@pytest.mark.parametrize("text", ["f*cker", "fu.cker", "fuc ker", "fuckeer", "fukcer", "fucer"])
def test_strict_level_finds_masks_splits_and_typos(text: str) -> None:
    """The strict level fires where the default level stays silent."""
    default = compile_rules(["fucker"], version=1)
    strict = compile_rules(["fucker"], version=1, level=RuleLevel.STRICT)

    assert (bool(default.match(text)), bool(strict.match(text))) == (False, True)


def test_compiled_set_survives_its_bytes() -> None:
    """A set read back from bytes matches as before and keeps its problems."""
    rules = compile_rules(["spam", "/(/"], ["free money"], version=7, level=RuleLevel.STRICT)
    again = type(rules).from_bytes(rules.to_bytes())

    assert again.match("sp@m free m0ney") == rules.match("sp@m free m0ney")
    assert (again.version, again.level, again.problems) == (7, RuleLevel.STRICT, rules.problems)


def test_damaged_bytes_are_refused() -> None:
    """A serialised set that was changed is never loaded."""
    data = bytearray(compile_rules(["spam"], version=1).to_bytes())
    data[-1] ^= 1

    with pytest.raises(Exception, match="damaged"):
        type(compile_rules([], version=1)).from_bytes(bytes(data))


def test_kind_of_a_phrase_hit() -> None:
    """Phrases and keywords keep their kind."""
    hits = compile_rules([], ["free money"], version=1).match("free money")

    assert [hit.kind for hit in hits] == [RuleKind.PHRASE]
