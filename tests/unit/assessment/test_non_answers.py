"""The one recogniser of a non-answer, in every language of the word lists, and its false alarms."""

from __future__ import annotations

import unicodedata

import pytest

from tests.unit.assessment.samples import assessed, calls_for, evidence, passage
from worker.assessment import Evidence, default_policy, parse_policy
from worker.assessment.non_answers import admits_ignorance, is_non_answer
from worker.model import Action, Json

ENGLISH = (
    "I do not know: nothing in the documents I was given answers that.",
    "I do not know. The documents that I was given do not say.",
    "Nothing in the provided context mentions opening hours.",
    "No document I have says anything about refunds.",
    "The documents you provided do not mention a warranty.",
    "I don't know.",
    "I do not know",
    "I DO NOT KNOW!",
    "I don’t know.",
    "I dont know",
    "We do not know.",
    "I do not know the answer to that.",
    "Sorry, I do not know.",
    "Sorry, but I do not know that.",
    "I'm sorry, but I don't know when the shop opens.",
    "I honestly do not know.",
    "I really don't know, sorry!",
    "Unfortunately I do not know whether you open at 9.",
    "I am not sure.",
    "I'm not sure about the best solution for this problem...",
    "I am not certain.",
    "I'm unsure about that.",
    "I have no idea.",
    "No idea, sorry.",
    "Good question! I do not know.",
    "I cannot answer this question.",
    "I can't answer that.",
    "I am unable to answer based on the given passages.",
    "Unable to answer based on the passages provided.",
    "Based on the passages provided, I cannot answer the question.",
    "I cannot say.",
    "I could not find any information about that.",
    "Sorry, I couldn't find order 12345.",
    "I do not have enough information to answer this question.",
    "I'm afraid I don't have that information.",
    "I don't have any details about the delivery time.",
    "I have no information about that.",
    "There is no information about returns in the documents.",
    "There isn't enough information to answer.",
    "The documents do not mention this.",
    "The provided passages do not contain information about the price.",
    "The context doesn't say.",
    "That is not mentioned in our documents.",
    "It is unclear from the documents.",
    "It's hard to say.",
    "I would rather not guess.",
    "I cannot help with that.",
    "I cannot answer, because the documents do not mention it.",
    "I don't know. Please contact our support team.",
    "I do not know, but I can connect you with a colleague.",
    "I don't know. Is there anything else I can help you with?",
    "Hello! I do not know. Have a nice day!",
    "I do not know [1].",
)
VIETNAMESE = (
    "Tôi không biết.",
    "Mình không biết ạ.",
    "Dạ em không rõ ạ.",
    "Tôi không chắc.",
    "Tôi không chắc chắn về điều này.",
    "Xin lỗi, tôi không có thông tin về vấn đề này.",
    "Xin lỗi nhưng tôi không biết.",
    "Rất tiếc, tôi không có đủ thông tin để trả lời.",
    "Tôi không thể trả lời câu hỏi này.",
    "Hiện tại mình chưa có thông tin về sản phẩm này.",
    "Tôi không tìm thấy thông tin về đơn hàng 12345.",
    "Tài liệu không đề cập đến giá.",
    "Dựa trên tài liệu, tôi không thể trả lời.",
    "Mình không biết. Bạn vui lòng liên hệ nhân viên hỗ trợ.",
)
CHINESE = (
    "我不知道。",
    "不知道。",
    "抱歉，我不知道。",
    "很抱歉，我不清楚。",
    "我不确定。",
    "我不太确定这个问题的答案。",
    "对不起，我无法回答这个问题。",
    "抱歉，我没有足够的信息来回答。",
    "没有相关信息。",
    "文档中没有提到价格。",
    "根据提供的资料，无法确定。",
    "抱歉，没有找到订单12345。",
    "我不知道，但是我可以为您转接人工客服。",
    "抱歉，我不知道。",
)
JAPANESE = (
    "わかりません。",
    "分かりません",
    "私にはわかりません。",
    "わかりません [1]。",
    "存じません。",
    "知りません。",
    "情報がありません。",
    "お答えできません。",
    "記載されていません。",
    "見つかりませんでした。",
    "申し訳ありませんが、わかりません。",
    "申し訳ございませんがわかりません。",
    "すみません、分かりません。",
    "恐れ入りますが、お答えできません。",
    "残念ながら、その質問にはお答えできません。",
    "営業時間はわかりません。",
    "店がいつ開くかはわかりません。",
    "返品についての情報が見つかりませんでした。",
    "提供された資料には記載されていません。",
    "価格については資料に記載されていません。",
    "申し訳ありませんが、その件に関する情報はございません。",
    "十分な情報がないため、お答えできません。",
    "ご注文12345は見つかりませんでした。",
    "わかりかねます。",
    "お答えしかねます。",
    "ちょっとわからないです。",
    "わかりません。サポートまでお問い合わせください。",
    "わかりませんので、担当者までお問い合わせください。",
)
OTHERS = (
    "Das weiß ich leider nicht.",
    "Ich weiß es nicht.",
    "Ich weiß nicht, wann der Laden öffnet.",
    "Leider habe ich dazu keine Informationen.",
    "Das kann ich leider nicht beantworten.",
    "Ich bin mir nicht sicher.",
    "Keine Ahnung.",
    "Es tut mir leid, aber ich weiß es nicht.",
    "No lo sé.",
    "Lo siento, no lo sé.",
    "No tengo esa información.",
    "Lamentablemente no puedo responder a esa pregunta.",
    "No estoy seguro.",
    "Je ne sais pas.",
    "Désolé, je ne sais pas.",
    "Je n'ai pas cette information.",
    "Malheureusement, je ne peux pas répondre à cette question.",
    "Je ne suis pas sûre.",
    "Non lo so.",
    "Mi dispiace, non lo so.",
    "Non ho informazioni sufficienti.",
    "Non sono sicuro.",
    "Não sei.",
    "Desculpe, não sei.",
    "Não tenho essa informação.",
    "Infelizmente não consigo responder.",
)
MORE = (
    "I'm sorry, I don't have information about our parking facilities.",
    "I'm sorry, but I don't have access to that information.",
    "I apologize, but I do not know the answer to your question.",
    "Unfortunately, the provided context does not include details on shipping to Norway.",
    "I don't have enough context to answer that.",
    "I am not able to answer that question.",
    "I'm not able to find this information in the documents.",
    "I do not have the answer to that right now.",
    "I'm afraid I can't help with that.",
    "That's a great question, but I don't have an answer.",
    "Hmm, I'm not sure about that one.",
    "I don't know that yet.",
    "I'm not sure, sorry about that!",
    "We don't have that information at the moment. Please reach out to our support team.",
    "I can't find that in our documents.",
    "I couldn't find anything about gift cards.",
    "Sorry, there's no mention of parking in our documents.",
    "Based on the given passages, it is not possible to say.",
    "It is not possible to determine this from the passages.",
    "The answer is not in the documents.",
    "The passages provided do not answer the question.",
    "I do not have any knowledge of that.",
    "I do not have data on that.",
    "As an AI, I don't know.",
    "I'm not certain of that.",
    "I have not been able to find the answer.",
    "I haven't found any information on this.",
    "I don't know the answer, so I would rather not guess.",
    "I could not find a reliable answer to that, so I would rather not guess.",
    "I don't have enough information to answer this reliably, so I would rather not guess. You "
    "could put the question differently, ask again later, or ask about a related topic.",
    "I don't know based on our documents.",
    "I'm not confident I can provide an accurate answer to this question based on the available "
    "information. Let me connect you with a team member who can help.",
    "I really have no clue.",
    "Not sure.",
    "I do not know anything about that.",
    "I don't know much about this.",
    "I know nothing about this.",
    "I don't have a clue",
    "That's outside my knowledge.",
    "We're not sure yet.",
    "I do not know, sorry. Thank you for your patience.",
    "Tôi không rõ thông tin này ạ.",
    "Em chưa nắm được thông tin này ạ.",
    "Tôi không biết câu trả lời.",
    "Tôi không tìm thấy câu trả lời đáng tin cậy nên không muốn đoán.",
    "Tôi không dám chắc.",
    "我们不清楚具体的价格。",
    "目前没有这方面的信息。",
    "我没有找到可靠的答案，不想随意猜测。",
    "这个我不太清楚哦。",
    "很遗憾，我无法提供相关信息。",
    "我不知道这个问题的答案。",
    "您的问题我无法回答。",
    "不好意思，这个我也不知道呢。",
    "我没有答案。",
    "Dazu liegen mir leider keine Informationen vor.",
    "Das weiß ich nicht.",
    "Leider kann ich diese Frage nicht beantworten.",
    "Ich habe leider keine Antwort darauf.",
    "Ich kann Ihnen dazu leider nichts sagen.",
    "No dispongo de información sobre eso.",
    "No sé la respuesta.",
    "Lo siento, pero no tengo información sobre eso.",
    "No encuentro información al respecto.",
    "Je n'ai pas d'information à ce sujet.",
    "Je ne connais pas la réponse.",
    "Je suis désolé, mais je ne peux pas répondre.",
    "Je n'ai pas trouvé d'information.",
    "Mi dispiace, ma non ho questa informazione.",
    "Non posso rispondere a questa domanda.",
    "Non conosco la risposta.",
    "Não sei a resposta.",
    "Desculpe, mas não tenho informações sobre isso.",
    "If the parcel is late, the documents do not say what happens.",
)


@pytest.mark.parametrize("text", [*ENGLISH, *VIETNAMESE, *CHINESE, *JAPANESE, *OTHERS, *MORE])
def test_a_draft_that_only_says_that_it_has_no_answer_is_a_non_answer(text: str) -> None:
    """Contracted or not, with regrets, reasons, sources and referrals around it."""
    assert is_non_answer(text)
    assert is_non_answer(unicodedata.normalize("NFD", text))


FALSE_ALARMS = (
    "Nothing in the shop contains nuts.",
    "None of our cakes contains gluten.",
    "Nothing in the documents mentions a fee, so delivery is free.",
    "No documents are needed to return an item.",
    "None of the documents is required.",
    "No information covers the price: it is 5 euros.",
    "I do not know anyone who dislikes it, but the shop opens at 9.",
    "I do not know anyone who dislikes it.",
    "I don't know any shop that delivers faster.",
    "I don't know how to thank you!",
    "I don't know, but the warranty covers water damage.",
    "I do not know, the shop opens at 9.",
    "I'm not sure; however it is free.",
    "I do not know the exact price, but the lamp costs about 20 euros.",
    "The shop opens at 9 and I do not know when it closes.",
    "The lamp costs 20 euros. I do not know the delivery time.",
    "I don't know and it opens at 9.",
    "If you do not know your size, use the chart.",
    "If you're not sure which size you need, see the chart.",
    "You do not know the password yet.",
    "Customers who don't know their size can ask at the desk.",
    "No information is shared with third parties.",
    "We have no information desk.",
    "Please do not mention the discount.",
    "We cannot provide a refund after 30 days.",
    "We are unable to ship to Norway.",
    "I can't help but smile.",
    "Breakfast is not included.",
    "The warranty does not cover water damage.",
    "The manual describes what to do when you cannot find the key.",
    "Do you not know your order number?",
    "Tôi không biết, nhưng cửa hàng mở cửa lúc 9 giờ.",
    "Không biết bạn cần size nào ạ?",
    "Cửa hàng không có thông tin cá nhân của bạn.",
    "Mình không biết ai không thích nó.",
    "Sản phẩm này không gây mùi.",
    "我不知道，但是商店九点开门。",
    "不知道您需要哪个尺码？",
    "没有人不知道这个品牌。",
    "我不知道有谁不喜欢它。",
    "我们无法提供退款。",
    "商店九点开门，我不确定几点关门。",
    "Ich weiß es nicht, aber der Laden öffnet um neun.",
    "Der Versand ist nicht sicher vor Regen.",
    "No lo sé, pero la tienda abre a las nueve.",
    "No hay gastos de envío.",
    "Je ne sais pas, mais le magasin ouvre à neuf heures.",
    "Non lo so, ma il negozio apre alle nove.",
    "Não sei, mas a loja abre às nove.",
    "The lamp is not sure to arrive on Monday.",
    "No data is stored.",
    "We have no details to hide: the price is 20 euros.",
    "I do not know of any problems with the lamp.",
    "We don't have details on the website, the leaflet is in the shop.",
    "You can return it within 30 days; I am not sure about shoes.",
    "I'm not sure you need a visa, EU citizens do not.",
    "It is hard to say no to this cake.",
    "We have no idea boxes.",
    "There is no data limit.",
    "There are no details missing.",
    "Our data does not include your card number.",
    "The information does not cost anything.",
    "The context menu does not say print.",
    "There is no information desk on floor two.",
    "We do not have access for wheelchairs.",
    "We cannot say thank you enough.",
    "You cannot answer calls here.",
    "The phone can't find the network; restart it.",
    "Không có thông tin nào bị chia sẻ.",
    "Vé không có thông tin ghế.",
    "Chúng tôi không biết mệt mỏi khi phục vụ bạn.",
    "没有信息费。",
    "我们的数据不会泄露。",
    "图片不清楚。",
    "这个产品不含糖。",
    "わかりませんか",
    "わかりませんか。",
    "場所が分かりませんか？",
    "道がわからない場合は、駅前の案内所へどうぞ。",
    "わかりませんでしたら、駅前の案内所へどうぞ。",
    "問題ありません。",
    "分かりました。",
    "すみません、九時に開きます。",
    "申し訳ありませんが、返金はできません。",
    "わかりませんが、店は9時に開きます。",
    "9時に開きますが閉店時間はわかりません。",
    "送料は500円でそれ以上はわかりません。",
    "異常は見つかりませんでした。",
    "嫌いな人を知りません。",
    "お電話にはお答えできません。",
    "隠れた情報はありません。",
    "ナッツは含まれていません。",
    "傷はほとんどわかりません。",
    "書類は必要ありません。",
    "Wir haben keine Angaben zu Allergenen auf der Karte, aber Nüsse sind enthalten.",
    "Wir haben keine Antwortpflicht.",
    "No tenemos datos ocultos.",
    "No hay información oculta.",
    "No puedo decirle lo contento que estoy.",
    "Non ho dati nascosti.",
    "Não temos dados ocultos.",
    "Nous n'avons pas d'informations cachées.",
    "There is information about returns in section two.",
    "I don't know. From Monday the shop opens late.",
    "If you do not know, ask us.",
    "I do not know. If it rains, we close.",
    "In our documents the price is 20 euros, I do not know more.",
    "We know the answer.",
    "",
    "🙂",
)


@pytest.mark.parametrize("text", FALSE_ALARMS)
def test_a_draft_that_states_something_beside_it_is_an_answer(text: str) -> None:
    """A clause with other content is a statement, and idioms are not admissions."""
    assert not is_non_answer(text)


@pytest.mark.parametrize(
    ("text", "admitted"),
    [
        ("The lamp costs 20 euros. I do not know the delivery time.", True),
        ("I don't know, but the warranty covers water damage.", True),
        ("I do not know anyone who dislikes it, but the shop opens at 9.", False),
        ("If you are not sure which size you need, see the chart.", False),
        ("The lamp costs 20 euros.", False),
    ],
)
def test_an_admission_is_found_beside_statements(text: str, admitted: bool) -> None:
    """What a draft admits in one clause counts as doubt, though the draft is an answer."""
    assert admits_ignorance(text) is admitted


BLUNT = (
    "I do not know.",
    "I don't know.",
    "Sorry, I am not sure.",
    "Tôi không biết.",
    "我不知道。",
    "わかりません。",
    "Das weiß ich nicht.",
)
POLICIES: tuple[dict[str, Json], ...] = (
    {"name": "calibrated"},
    {"name": "calibrated", "gate": False},
    {"name": "failsafe"},
    {"name": "failsafe", "gate": True},
    {"name": "failsafe", "trigger_on_category": False},
    {"name": "guardrail"},
    {"name": "guardrail", "gate": True},
    {"name": "safety"},
    {"name": "safety", "require_citations": False},
    {"name": "safety", "require_citations": False, "gate": True},
)


@pytest.mark.parametrize("policy", POLICIES, ids=str)
@pytest.mark.parametrize("draft", BLUNT)
def test_no_policy_sends_a_non_answer_or_pays_a_judge_for_it(draft: str, policy: dict[str, Json]) -> None:
    """It ends with the policy's low action, and the failed checks name it."""
    chosen = parse_policy(policy)
    found = assessed(draft, chosen, evidence(0.9))

    assert calls_for(draft, chosen, evidence(0.9)) == 0
    assert found.action is chosen.low_action
    assert found.confidence == 0.0
    assert "refusal" in found.failed_checks


@pytest.mark.parametrize(
    ("name", "category"),
    [
        ("calibrated", "refusal"),
        ("failsafe", "UNCERTAINTY"),
        ("guardrail", "refusal"),
        ("safety", "refusal"),
    ],
)
def test_a_non_answer_has_a_category(name: str, category: str) -> None:
    """FailsafeNode keeps its own word for it."""
    assert assessed("I do not know.", default_policy(name), evidence(0.9)).category == category


def test_validators_send_an_honest_dont_know_only_without_context_and_alone() -> None:
    """Confidence Validation passes the admission; an additional fact needs a citation like any other."""
    policy = default_policy("validators")
    admission = assessed("I do not know.", policy, Evidence())
    with_fact = assessed("I do not know, but the shop opens at nine.", policy, Evidence())

    assert (admission.action, admission.failed_checks) == (Action.SEND, ())
    assert with_fact.action is Action.FALLBACK
    assert "missing_uncertainty_no_context" not in with_fact.failed_checks


def test_the_failsafe_counts_a_doubt_however_it_is_written() -> None:
    """The long forms weigh what their contractions weigh."""
    tail = " The parcel left the warehouse in Hamburg on Monday morning."
    policy = default_policy("failsafe")
    pairs = (
        ("I do not know the day.", "I don't know the day."),
        ("I am not sure of it.", "I'm not sure of it."),
    )
    for plain, contracted in pairs:
        found, expected = (assessed(text + tail, policy) for text in (plain, contracted))

        assert (found.confidence, found.category) == (expected.confidence, "UNCERTAINTY")


def test_the_failsafe_hears_no_doubt_in_an_idiom() -> None:
    """What the reader may not know, and a phrase of praise, are no doubt of the speaker."""
    draft = "I do not know anyone who dislikes it. If you are not sure which size you need, see the chart."
    found = assessed(draft, default_policy("failsafe"))

    assert (found.confidence, found.category, found.action) == (1.0, "", Action.SEND)


def test_a_guardrail_that_judged_nothing_keeps_its_published_record() -> None:
    """Confidence Guardrail: every message has a breakdown; what was not judged is null."""
    found = assessed("I do not know.", default_policy("guardrail"), Evidence(passages=(passage(),)))

    assert found.diagnostics["confidenceBreakdown"] == {
        "grounding": None,
        "retrieval": 0.9,
        "certainty": None,
    }
    assert found.diagnostics["confidence"] == 0.27
    assert (found.confidence, found.tier) == (0.0, "low")
