"""Keywords in scripts without spaces: found on possible word edges, not inside other words."""

from __future__ import annotations

import pytest

from worker.rules import compile_rules

FOUND = [
    ("发票", "代开发票"),
    ("发票", "代开发票请联系我"),
    ("發票", "代开发票"),
    ("发票", "代開發票"),
    ("去死", "你怎么不去死啊"),
    ("平淡", "太平淡了"),
    ("才能", "这样的人才能成功"),
    ("周二", "本周二到货"),
    ("去年", "遥想去年的事"),
    ("贷款", "快速办贷款"),
    ("赌博", "网上赌博网站"),
    ("裸聊", "找我裸聊吧"),
    ("毒品", "卖毒品的人"),
    ("傻逼", "你个傻逼吧"),
    ("骗子", "他就是骗子公司"),
    ("代考", "专业代考服务"),
    ("枪支", "出售枪支弹药"),
    ("洗钱", "帮人洗钱犯罪"),
    ("笨蛋", "大笨蛋一个"),
    ("和服", "她穿和服很美"),
    ("国会", "国会通过了"),
    ("死ね", "お前は死ねばいい"),
    ("死ね", "早く死ねって言ってる"),
    ("死ね", "みんな死ねと思う"),
    ("殺す", "お前を殺すぞ"),
    ("殺す", "今度会ったら殺すよ"),
    ("馬鹿", "お前は馬鹿だ"),
    ("詐欺", "これは詐欺です"),
    ("消えろ", "今すぐ消えろよ"),
    ("黙れ", "うるさい黙れよ"),
    ("くたばれ", "早くくたばれよ"),
    ("うざい", "まじでうざいよ"),
    ("きもい", "お前きもいんだよ"),
    ("バカ", "このバカが"),
    ("ควาย", "มึงมันควายจริงๆ"),
    ("ควาย", "ไอ้ควายเอ๊ย"),
    ("โง่", "คุณโง่มาก"),
    ("หวย", "ซื้อหวยออนไลน์"),
    ("พนัน", "เว็บพนันออนไลน์"),
    ("ตาย", "ไปตายซะ"),
    ("โกง", "ร้านนี้โกงลูกค้า"),
]

NOT_FOUND = [
    ("和服", "产品和服务"),
    ("和服", "我们提供维修和服务"),
    ("前天", "他以前天天来"),
    ("天下", "一天下来很累"),
    ("人大", "工人大会"),
    ("上海", "海上海鸥"),
    ("白天", "白天鹅"),
    ("手机", "挥手机会"),
    ("性交", "女性交通"),
    ("口交", "出口交易"),
    ("情色", "感情色彩"),
    ("大麻", "高大麻雀"),
    ("色情", "特色情况"),
    ("杀人", "暗杀人员"),
    ("公安", "办公安排"),
    ("奶子", "牛奶子公司"),
    ("日本", "今日本地"),
    ("屁股", "放屁股东"),
    ("兼职", "招兼职工"),
    ("办证", "代办证件"),
    ("动机", "新的发动机"),
    ("球队", "这支足球队"),
    ("运会", "历届奥运会"),
    ("说的", "这部小说的故事"),
    ("会对", "国际社会对此"),
    ("小姐", "小姐姐你好"),
    ("ばか", "そればかりだ"),
    ("いか", "いかがですか"),
    ("しね", "わたしねむい"),
    ("しね", "わたしね、"),
    ("ばか", "いけばかな"),
    ("えろ", "かえろか"),
    ("バカ", "アルバカーキ"),
    ("エロ", "ヒエログリフ"),
    ("ちんこ", "パチンコ"),
    ("かす", "かすかに"),
    ("うんこ", "うんこう"),
    ("デブ", "デブリ"),
    ("หี", "หีบสมบัติ"),
    ("กก", "มากกว่า"),
    ("ยา", "พยายาม"),
    ("หมา", "หมายเลข"),
    ("หมา", "ความหมาย"),
    ("ขาย", "ขยาย"),
    ("รัก", "รักษา"),
]


@pytest.mark.parametrize(("rule", "text"), FOUND)
def test_a_keyword_on_a_possible_word_edge_is_found(rule: str, text: str) -> None:
    """The word breaker's choice does not hide it."""
    assert [hit.rule for hit in compile_rules([rule], version=1).match(text)] == [rule]


@pytest.mark.parametrize(("rule", "text"), NOT_FOUND)
def test_a_keyword_inside_other_words_is_not_found(rule: str, text: str) -> None:
    """Neither inside one word nor across two where that reading is unlikely."""
    assert compile_rules([rule], version=1).match(text) == ()


@pytest.mark.parametrize(
    ("simplified", "traditional"),
    [
        ("赌博网站", "賭博網站"),
        ("发票", "發票"),
        ("头发", "頭髮"),
        ("干净", "乾淨"),
        ("台湾", "臺灣"),
        ("里面", "裡面"),
        ("里面", "裏面"),
        ("面条", "麵條"),
        ("钟表", "鐘錶"),
        ("鸟", "鳥"),
        ("么", "幺"),
        ("秋千", "鞦韆"),
        ("𫝈", "㑮"),
        ("𫘝", "駃"),
    ],
)
def test_simplified_and_traditional_rules_find_each_other(simplified: str, traditional: str) -> None:
    """In both directions, also rare characters of Unihan that ICU leaves out."""
    for rule, text in ((simplified, traditional), (traditional, simplified)):
        (hit,) = compile_rules([rule], version=1).match(f"{text}。")
        assert (hit.text, hit.how) == (text, "variant")


@pytest.mark.parametrize(
    ("rule", "text"), [("复", "覆"), ("旋", "鏇"), ("日", "曰"), ("未", "末"), ("己", "已")]
)
def test_other_characters_stay_other(rule: str, text: str) -> None:
    """A character with its own simplified form, or one that only looks alike, is no variant."""
    assert compile_rules([rule], version=1).match(f"{text}。") == ()
