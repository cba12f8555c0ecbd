"""The codes and words by which vendors say what is wrong, where their status does not."""

from __future__ import annotations

import re
from typing import Final


def one_of(*forms: str) -> re.Pattern[str]:
    """A search for any of these forms, at the beginning of a line where a form says so."""
    return re.compile("|".join(forms), re.IGNORECASE | re.MULTILINE)


QUOTA_CODES: Final = frozenset(
    {
        "insufficient_quota",
        "billing_hard_limit_reached",
        "billing_not_active",
        "exceeded_current_quota_error",
        "insufficient_user_quota",
        "insufficient_balance",
        "billing_error",
        "budget_exceeded",
        "token_quota_reached",
        "customer_verification_required",
    }
)
MODEL_CODES: Final = frozenset(
    {
        "model_not_found",
        "invalid_model",
        "model_decommissioned",
        "model_not_available",
        "deploymentnotfound",
        "unknown_model",
        "model_not_supported",
        "model_terms_required",
        "model_permission_blocked_org",
        "model_permission_blocked_project",
    }
)
INPUT_CODES: Final = frozenset(
    {
        "content_filter",
        "content_policy_violation",
        "moderation_blocked",
        "data_inspection_failed",
        "datainspectionfailed",
        "responsibleaipolicyviolation",
        "prompt_blocked",
        "invalid_prompt",
        "guardrail_intervened",
        "safety_violation",
        "input_moderation",
        "content_moderation",
        "cyber_policy",
    }
)
OUTPUT_CODES: Final = frozenset({"tool_use_failed", "json_validate_failed", "output_parse_failed"})
OUTPUT_WORDS: Final = one_of(r"^tool error:")
"""The model wrote what its server cannot read; asked again it may write something else."""
KEY_WORDS: Final = one_of(
    r"api_key_(?:invalid|expired)",
    r"^(?:invalid|incorrect) (?:x-)?api[ -]?key",
    r"^api[ -]?key (?:not valid|expired|not found|无效)",
    r"\bunauthenticated\b",
    r"^access token (?:invalid|expired)",
    r"^authentication error",
    r"^(?:this |your )?(?:organi[sz]ation|account|workspace|project) (?:has been|is) "
    r"(?:disabled|restricted|suspended|deactivated)",
    r"^user location is not supported",
    r"(?:^|operation: )the security token included in the request is (?:expired|invalid)",
    r"^login fail\b",
    r"NoAuthError\b",
    r"^please configure AI gateway\b",
)
QUOTA_WORDS: Final = one_of(
    r"insufficient.{0,20}(?:balance|credit|fund|quota)",
    r"^sorry, your account balance is insufficient",
    r"^not[ _]enough[ _](?:balance|credit|quota)",
    r"^your .{0,40}n.t have any credits",
    r"^your prepayment credits are depleted",
    r"^your team .{0,60}used all available credits",
    r"(?:exceeded|reached) its (?:monthly )?spend(?:ing)? (?:limit|cap)",
    r"^you have reached your specified (?:workspace )?API usage limits",
    r"^key limit exceeded",
    r"^the free tier of the model has been exhausted",
    r"reached the set inference limit",
    r"^inference prohibited",
    r"please enable billing on",
    r"^you need a \w+ subscription\b",
    r"credit balance is too low",
    r"out of credits",
    r"requires more credits",
    r"billing hard limit",
    r"quota_failed",
    r"budget has been exceeded",
    r"exceeded ?budget\b",
    r"余额不足",
    r"欠费",
    r"^.{0,12}(?:额度|余量)已用[完尽]",
    r"^you(?:'ve| have) reached your usage limit for this billing cycle\b",
    r"^(?:api )?key budget limit exceeded\b",
    r"in arrears",
    r"^arrearage$",
    r"^the request failed because your account has an overdue balance",
    r"^access denied due to overdue account",
)
_ABSENT: Final = r"^该?模型.{0,60}(?:不存在|已下线)"
MODEL_WORDS: Final = one_of(
    r"(?:models?|deployment)\b.{0,200}\b(?:not found|not exist|not a valid|decommissioned|no longer available"
    r"|was removed|end of (?:its )?life|deprecated|marked by provider as legacy|use case details have not)",
    r"(?:invalid|unknown|no such) model\b",
    r"no endpoints (?:found|available)",
    r"no allowed providers",
    r"^not found the model\b",
    r"not activated the model\b",
    r"^model: \S{1,120}$",
    r"^function \S{1,80} not found for account",
    _ABSENT,
)
MODEL_BEGINNINGS: Final = one_of(
    r"^(?:the )?(?:model|deployment)\b.{0,80}\b(?:not found|not exist|not a valid|decommissioned)",
    r"^(?:AiError: )*(?:invalid|unknown|no such) model\b",
    r"^\S{1,80} is not a valid model",
    r"^\[address=[^\]]{1,80}\] model not found",
    r"(?:^|operation: )the provided model identifier is invalid",
    r"\bdoes not work with the specified model\b",
    _ABSENT,
    r"\bthe endpoint is paused\b",
    r"invalid model name passed in model=",
    r"^failed to load model\b",
    r"\bunexpected model name format",
    r"^no models (?:are currently )?loaded\b",
    r"unable to access non-serverless model",
    r"with on-demand throughput isn.t supported",
    r"^(?:upstream request failed: \[\d{3}\] )?(?:this|the) model\b.{0,80}\bnot available (?:in|for|on)"
    r" (?:your|this) (?:region|country|subscription|plan)\b",
)
"""Words in the message of a 400 or 403, which may quote what an author wrote."""
INPUT_WORDS: Final = one_of(
    r"\bflagged\b",
    r"(?<![\w-])moderat(?:ed|ion)(?![\w-])",
    r"content[ _](?:polic|filter|management|exists risk|safety)",
    r"safety (?:system|polic|filter|reasons|check)",
    r"inappropriate content",
    r"sensitive (?:content|words?)",
    r"(?:prompt|input|request|message)s? (?:was|were|is|ha(?:s|ve) been) (?:blocked|rejected|filtered)",
    r"violat\w+ .{0,40}(?:polic|usage guidelines)",
    r"put new_sensitive",
    r"guardrail",
    r"(?:prompt|response) (?:pattern is )?blocked\b",
)
GUARDRAIL_WORDS: Final = one_of(r"guardrail (?:failed:|blocked|intervened)")
"""A blocked text that a gateway reports as its own failure; a guardrail that does not answer is an outage."""
ACCOUNT_WORDS: Final = one_of(
    r"\b(?:account|organi[sz]ation|project|workspace|subscription|country|region)\b",
    r"\bkey\b(?! ID:)|(?<!^the caller does not have )\bpermission\b",
)
"""The deployment is refused, and not what one author wrote; xAI says both of an author's text."""
RATE_WORDS: Final = one_of(
    r"rate.?limit",
    r"too many requests",
    r"quota.?exceeded",
    r"usage ?limits",
    r"concurren\w*.{0,30}\blimit",
    r"resource_exhausted",
    r"overloaded",
    r"at capacity",
    r"out of call volume quota",
)
ENDPOINT_WORDS: Final = one_of(r"^unexpected endpoint or method")
"""The path is wrong, which some servers say with a success."""
THROTTLED_WORDS: Final = one_of(r"ThrottlingException", r"^throttling\.", r"please wait before trying again")
UNLOADED_WORDS: Final = one_of(
    r"^model (?:is |was )?(?:unloaded|not loaded)",
    r"^the model has crashed",
    r"^channel error",
    r"\bDEGRADED function cannot be invoked",
)
"""A model that the server loads at the next call, or that another machine of it serves."""
TOO_LONG_WORDS: Final = one_of(
    r"context[ _-]?(?:length|window|size).{0,40}exceed",
    r"exceed.{0,60}context[ _-]?(?:length|window|size|limit)",
    r"maximum context length",
    r"maximum prompt length",
    r"prompt exceeds max",
    r"(?:prompt|input|text) (?:\(\d+ tokens\) )?(?:is )?too long",
    r"request[ _](?:(?:entity|body) )?too[ _]large",
    r"(?:input|prompt) token count.{0,60}exceed",
    r"input token count is \d+ but",
    r"tokens in request more than max",
    r"reduce (?:the length|your prompt|your message)",
    r"longer than the (?:model'?s context|maximum model length|context length)",
    r"(?:must be less than|greater than) (?:or equal to )?max_seq_len",
    r"greater than the context length",
    r"exceeded model token limit",
    r"context length is only",
    r"too large for model",
    r"configured context size",
    r"too many (?:input )?tokens(?! processed)",
    r"tokens? limit exceeded",
    r"cannot exceed the total tokens limit",
    r"exceeding max \d+ tokens",
    r"too large to process\. increase the physical batch size",
    r"^the size of tensor a \(\d+\) must match the size of tensor b",
    r"^prompt 超长",
    r"^the max input characters is",
    r"range of input length",
    r"context the overflows",
    r"exceeds (?:the )?(?:max(?:imum)?|limit).{0,40}tokens?",
    r"string_above_max_length",
    r"tokens must be reduced",
    r"exceeds? the (?:max_model_len|window size)",
    r"^slot context: \d+ tokens, prompt \d+",
    r"^.{0,8}(?:输入|内容|上下文|长度).{0,10}(?:超过|超出|过长)",
    r"exceeds? (?:the )?(?:max(?:imum)?|limit|allowed).{0,30}(?:sequence|input) length",
    r"must have less than \d+ tokens",
    r"expected maxlength: \d+, actual: \d+",
    r"payload size exceeds the limit",
    r"string should have at most \d+ characters",
    r"^the expanded size of the tensor \(\d+\) must match the existing size",
    r"`inputs` tokens \+ `max_new_tokens` must be",
)
