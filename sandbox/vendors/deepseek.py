"""DeepSeek, and other vendors of China."""

from __future__ import annotations

from sandbox.routes import Route
from sandbox.vendors.form import Meaning, Requirement, Vendor, answered, cut, message, refused, said, text
from sandbox.vendors.requests import has, lacks_reasoning

GUIDE = "api-docs.deepseek.com: error codes, reasoning"


def failed(words: str, kind: str = "invalid_request_error") -> dict[str, object]:
    """An error object."""
    return {"error": {"message": words, "type": kind, "param": None, "code": kind}}


DEEPSEEK = Vendor(
    name="deepseek",
    usual={Route.CHAT: message(reasoning_content=lambda _: "They ask for hours.")},
    requirements=(
        Requirement(
            name="no response_format",
            source=GUIDE,
            is_broken_by=has("response_format"),
            status=400,
            body=failed("This response_format type is unavailable now"),
        ),
        Requirement(
            name="reasoning of earlier lines",
            source="kimi-cli#2141, hermes-agent#15353",
            is_broken_by=lacks_reasoning,
            status=400,
            body=failed("The `reasoning_content` in the thinking mode must be passed back to the API."),
        ),
    ),
    forms=(
        answered("no_resource", Meaning.UNUSABLE, GUIDE, cut("insufficient_system_resource")),
        answered("empty", Meaning.UNUSABLE, GUIDE, message(content="", reasoning_content="Hours.")),
        answered("dsml", Meaning.UNUSABLE, "hermes-agent#15453", text(lambda _: '<｜DSML｜function_calls><｜DSML｜invoke name="x">')),
        answered("dsml_ascii", Meaning.UNUSABLE, "hermes-agent#15453", text(lambda _: "< | DSML | tool_calls >")),
        answered("end", Meaning.WHOLE, GUIDE, text(lambda said: f"{said}<｜end▁of▁sentence｜>")),
        answered("calls_begin", Meaning.UNUSABLE, GUIDE, text(lambda _: "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function")),
        refused("balance", Meaning.QUOTA, GUIDE, 402, failed("Insufficient Balance", "unknown_error")),
        refused("risk", Meaning.INPUT, GUIDE, 400, failed("Content Exists Risk")),
        refused("busy", Meaning.LATER, GUIDE, 503, failed("Service is too busy", "service_unavailable_error")),
    ),
)  # fmt: skip
ZHIPU = Vendor(
    name="zhipu",
    forms=(
        answered("sensitive", Meaning.DECLINED, "bigmodel.cn/dev: error codes", cut("sensitive")),
        answered("network", Meaning.UNUSABLE, "bigmodel.cn/dev: error codes", cut("network_error")),
        refused("unsafe", Meaning.INPUT, "bigmodel.cn/dev: error codes", 400, {"contentFilter": [{"level": 1, "role": "user"}], "error": {"code": "1301", "message": "sensitive content detected"}}),
        refused("arrears", Meaning.QUOTA, "bigmodel.cn/dev: error codes", 429, {"error": {"code": "1113", "message": "您的账户已欠费，请充值后重试。"}}),
        refused("rate", Meaning.LATER, "bigmodel.cn/dev: error codes", 429, {"error": {"code": "1302", "message": "您的账户已达到速率限制"}}),
        refused("no_model", Meaning.MODEL, "bigmodel.cn/dev: error codes", 400, {"error": {"code": "1211", "message": "模型不存在，请检查模型代码。"}}),
        refused("too_long", Meaning.TOO_LONG, "bigmodel.cn/dev: error codes", 400, {"error": {"code": "1261", "message": "Prompt 超长"}}),
        refused("not_there", Meaning.MODEL, "evenfire#338", 404, {"error": {"code": "1211", "message": "模型 x 不存在或无权限访问"}}),
        refused("too_long_input", Meaning.TOO_LONG, "hermes-agent: error classifier", 400, {"error": {"message": "输入内容超过最大长度限制"}}),
        answered("glm_call", Meaning.UNUSABLE, "hermes-agent#35129", text(lambda _: "<tool_call>search_documents\n<arg_key>query</arg_key>\n<arg_value>x</arg_value>\n</tool_call>")),
    ),
)  # fmt: skip
MINIMAX = Vendor(
    name="minimax",
    forms=(
        answered("hidden_rate", Meaning.LATER, "minimax.io: error codes", said({"choices": None, "base_resp": {"status_code": 1002, "status_msg": "rate limit"}})),
        answered("hidden_balance", Meaning.QUOTA, "minimax.io: error codes", said({"choices": None, "base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}})),
        refused("balance", Meaning.QUOTA, "hermes-agent#16680", 500, {"type": "error", "error": {"type": "api_error", "message": "insufficient balance (1008)"}}),
        answered("hidden_sensitive", Meaning.INPUT, "minimax.io: error codes", said({"choices": None, "base_resp": {"status_code": 1026, "status_msg": "input new_sensitive"}})),
        answered("hidden_login", Meaning.KEY, "minimax.io: error codes", said({"base_resp": {"status_code": 1004, "status_msg": "login fail: Please carry the API secret key in the 'Authorization' field of the request header"}})),
        answered("bracket_call", Meaning.UNUSABLE, "hermes-agent#35935", text(lambda _: '[TOOL_CALL]\n{tool => "x", args => {}}\n[/TOOL_CALL]')),
        answered("calling", Meaning.UNUSABLE, "hermes-agent#27834", text(lambda _: "[Calling tool: x with arguments: {}]")),
    ),
)  # fmt: skip
MOONSHOT = Vendor(
    name="moonshot",
    requirements=(
        Requirement(
            name="reasoning of earlier lines",
            source="crush#2696",
            is_broken_by=lacks_reasoning,
            status=400,
            body=failed("thinking is enabled but reasoning_content is missing in assistant tool call message at index 2"),
        ),
    ),
    forms=(
        answered("kimi_sections", Meaning.UNUSABLE, "hermes-agent#35129", text(lambda _: "<|tool_calls_section_begin|><|tool_call_begin|>functions.search_documents:0")),
        answered("kimi_think", Meaning.WHOLE, "kimi", text(lambda said: f"◁think▷Hours.◁/think▷{said}")),
        refused("rate", Meaning.LATER, "platform.moonshot.ai/docs", 429, failed("Your account reached max request concurrency: 1, please try again after 1 seconds", "rate_limit_reached_error"), wait_s=1.0),
        refused("concurrent", Meaning.LATER, "multica#8200, rosclaw#560", 403, failed("You've reached your concurrent request limit. Please wait for your ongoing requests to finish and try again.", "permission_error")),
        refused("billing_cycle", Meaning.QUOTA, "cc-haha#1208", 403, failed("You've reached your usage limit for this billing cycle. Your quota will be refreshed in the next cycle.", "permission_error")),
        refused("suspended", Meaning.QUOTA, "platform.moonshot.ai/docs", 429, failed("Your account is suspended, please check your plan and billing details", "exceeded_current_quota_error")),
        refused("filtered", Meaning.INPUT, "platform.moonshot.ai/docs", 400, failed("The request was rejected because it was considered high risk", "content_filter")),
        refused("no_model", Meaning.MODEL, "platform.moonshot.ai/docs", 404, failed("Not found the model x or Permission denied", "resource_not_found_error")),
        refused("too_long", Meaning.TOO_LONG, "platform.moonshot.ai/docs", 400, failed("Invalid request: Your request exceeded model token limit: 131072")),
    ),
)  # fmt: skip
DASHSCOPE = Vendor(
    name="dashscope",
    forms=(
        refused("arrears", Meaning.QUOTA, "new-api#1401", 400, failed("Access denied, please make sure your account is in good standing.", "Arrearage")),
        refused("throttled", Meaning.LATER, "openclaw#148275", 429, {"error": {"message": "You exceeded your current quota, please check your plan and billing details.", "type": "insufficient_quota", "code": "Throttling.AllocationQuota"}}),
        refused("free_tier", Meaning.QUOTA, "help.aliyun.com/model-studio: error codes", 403, failed("The free tier of the model has been exhausted.", "AllocationQuota.FreeTierOnly")),
        refused("reply", Meaning.INPUT, "help.aliyun.com/model-studio: error codes", 400, failed("Output data may contain inappropriate content.", "data_inspection_failed")),
    ),
)  # fmt: skip
QWQ = Vendor(
    name="dashscope-qwq",
    requirements=(
        Requirement(
            name="only streams",
            source="help.aliyun.com/model-studio: QwQ",
            is_broken_by=lambda body: not body.get("stream"),
            status=400,
            body=failed("This model only support stream mode, please enable the stream parameter to access the model."),
        ),
    ),
)  # fmt: skip
VOLCENGINE = Vendor(
    name="volcengine",
    forms=(
        refused("overdue", Meaning.QUOTA, "coze-studio#2195", 403, failed("The request failed because your account has an overdue balance.", "AccountOverdueError")),
        refused("set_limit", Meaning.QUOTA, "volcengine.com/docs/82379: error codes", 429, failed("Your account [1] has reached the set inference limit for the [m] model, and the model service has been paused.", "SetLimitExceeded")),
        refused("not_open", Meaning.MODEL, "volcengine.com/docs/82379: error codes", 404, failed("Your account 1 has not activated the model m.", "ModelNotOpen")),
    ),
)  # fmt: skip
SILICONFLOW = Vendor(
    name="siliconflow",
    forms=(
        refused("balance", Meaning.QUOTA, "docs.siliconflow.cn: error codes", 403, {"code": 30001, "message": "Sorry, your account balance is insufficient", "data": None}),
        refused("too_long", Meaning.TOO_LONG, "chatbox#2060", 400, {"code": 20015, "message": "length of prompt_tokens (68957) must be less than max_seq_len (65536).", "data": None}),
    ),
)  # fmt: skip
