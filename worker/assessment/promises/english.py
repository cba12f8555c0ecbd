"""How English promises an action."""

from __future__ import annotations

from worker.assessment.promises.grammar import PromiseGrammar

_ADVERB = (
    r"(?: (?:now|also|gladly|happily|immediately|right away|just|then|personally|certainly|definitely|"
    r"already|"
    r"of course|shortly|soon|be happy to|be glad to|be able to|make sure to|try to|do my best to|"
    r"go ahead and|"
    r"quickly|directly|successfully|kindly|get|have|today|automatically))*"
)
_YOUR = r"(?:you|your?|this|that|it|the|a|an|my|our|him|her|them|one|everything)"
_ACT = (
    r"(?:(?:re)?(?:contact|call|phone|ring|e-?mail|notify|remind) (?:you|them|him|her|the|our|my|a)\b|"
    r"call back|text you|message you|call you|write (?:to )?you|write back|"
    r"(?:update|inform|tell) you (?:as soon|once|when|by|later|shortly|soon|tomorrow|today)|"
    r"get back to you|come back to you|follow up|reach out|be in touch|get in touch|keep you (?:posted|"
    r"updated|"
    r"informed)|let you know (?:as soon|once|when|by|later|shortly|soon|tomorrow|today)|"
    r"let (?:my|our|the|them|him|her)\b|"
    rf"(?:forward|pass|relay|escalate|hand|transfer|redirect|submit|report|file|raise|log|open|process|"
    rf"register|issue|approve|initiate) {_YOUR}\b(?! (?:question|topic|shop|store|door|link))|"
    r"connect you|put you (?:through|in touch)|"
    rf"(?:refund|reimburse|credit|compensate|waive|cancel|book|reserve|reschedule|rebook|exchange|replace|"
    rf"extend|renew|unlock|block|reset|correct|delete|investigate|expedite|ship|dispatch) {_YOUR}\b|"
    r"(?:change|update|remove|adjust) (?:your|this|it|that|the (?:order|booking|address|reservation))\b|"
    r"add (?:you|this|it|your)\b|sign you up|send (?:you|it|this|out|over|your|someone|a|an|the)\b|"
    r"(?:create|open|raise|place) (?:a|an|the|your) (?:\w+ )?(?:ticket|case|order|request|claim|complaint|"
    r"reservation|label|account)|"
    r"(?:arrange|schedule|organi[sz]e|set up) (?:a|an|the|your|this|that|it|for|one)\b|"
    r"look into|check (?:with|on|your|this for|that for|it for)|ask (?:a|our|my|the|someone)\b|"
    r"(?:speak|talk) (?:to|with) (?:a|our|my|the)\b|consult (?:a|our|my|the|with)\b|make a note|"
    r"have (?:someone|a colleague|a technician|our|my|it|them)\b|see to it|take care of|"
    r"handle (?:this|it|that|your)|put (?:it|one|this|a \w+) aside|(?:hold|keep|set) (?:it|one|this|a \w+) "
    r"(?:aside|back|for you)|make sure (?:that |someone|our|the team|a colleague|it (?:is|gets)|they|this)|"
    r"deliver (?:it|your|this)|grant you|give you a (?:refund|call|discount|voucher))"
)
_DONE = (
    r"(?:contacted|called|phoned|e-?mailed|notified|informed|alerted|messaged|forwarded|passed|relayed|"
    r"escalated|handed|transferred|redirected|submitted|reported|filed|raised|logged|opened|processed|"
    r"registered|issued|approved|initiated|connected|refunded|reimbursed|credited|compensated|waived|"
    r"cancell?ed|booked|reserved|rescheduled|rebooked|exchanged|replaced|extended|renewed|unlocked|blocked|"
    r"reset|corrected|deleted|expedited|shipped|dispatched|changed|updated|removed|adjusted|added|"
    r"signed you up|sent|created|placed|arranged|scheduled|organi[sz]ed|set up|checked with|asked|"
    r"spoken|spoke|noted|made a note|put (?:it|one|this) aside)"
)
_DOING = (
    r"(?:forwarding|passing|transferring|connecting|escalating|handing|sending|refunding|processing|"
    r"cancelling|canceling|contacting|calling|checking with|looking into|booking|arranging|redirecting)"
)
_PEOPLE = (
    r"(?:colleagues?|team|team members?|agents?|specialists?|representatives?|staff|manager|human|person|"
    r"advis[oe]rs?|support|customer (?:service|care|support)|service desk|someone|somebody|experts?|"
    r"technicians?|department|supervisor|assistant|they|consultants?)"
)
_THEIR_ACT = (
    rf"(?:{_ACT}|reply|respond|answer (?:you|this|your)|take (?:over|care|it from)|contact|call|"
    r"(?:assist|help|join|attend to) you (?:shortly|soon|in a moment|right away|as soon|further|personally)|"
    r"review your|be with you|(?:visit|meet) you|come to (?:you|your))"
)
_WILL = r"(?:will|shall|is going to|are going to|'ll)"

ENGLISH = PromiseGrammar(
    own=(
        rf"i(?:'ll| will| shall|'m going to| am going to|'m about to){_ADVERB} {_ACT}",
        rf"i(?:'ve| have)?{_ADVERB} {_DONE}",
        rf"(?:i'm|i am|we're|we are) (?:now |currently |just )?{_DOING}",
        rf"let me{_ADVERB} {_ACT}|let me check\b",
        r"i'm on it|consider it done|please hold while i|one moment while i",
        r"(?:(?<![a-z] )|now )(?:transferring|connecting|forwarding) (?:you|your)\b",
    ),
    team=(
        rf"(?:we(?:'ll| will| shall|'re going to| are going to)){_ADVERB} {_ACT}",
        rf"we(?:'ve| have| just){_ADVERB} {_DONE}",
        rf"{_PEOPLE}(?: [\w'-]+){{0,4}}? {_WILL}{_ADVERB} {_THEIR_ACT}",
        rf"{_PEOPLE} (?:has|have) been{_ADVERB} (?:notified|informed|alerted|asked|told)",
        r"you(?:'ll| will| shall| are going to)(?: also| soon| shortly| then)* (?:be (?:contacted|called|"
        r"connected|transferred|"
        r"refunded|reimbursed|notified|informed|credited|put through)|hear (?:back )?from|(?:receive|"
        r"get) (?:a|an|your|the|"
        r"our) (?:\w+ )?(?:call|e-?mails?|message|reply|refund|confirmation|answer|response|text|voucher|"
        r"replacement|link|label|credit))",
        rf"(?:your|the|this|that|it)(?: [\w'-]+){{0,3}} (?:has been|have been|is being|will be|was|were|"
        rf"are being){_ADVERB} (?:{_DONE}(?! (?:in|by the|within the past)\b))",
        r"(?:your|the) (?:refund|replacement|voucher|confirmation|e-?mail) is on (?:its|the) way",
    ),
    not_promised=(
        r"i have added up|(?:i|we) will not\b|(?:before|until|unless|after|if) (?:i|we) (?:have )?\w+|"
        r"(?:before|until|unless|after|if|once|whether) (?:it|they|the|your|this|that)(?: [\w'-]+){0,3} "
        r"(?:has|have|was|were|is|are) (?:been |being )?\w+|"
        r"if you (?:have|were|are|get) [^,.]*|as i have noted|i have checked the documents|"
        r"opening hours (?:was|were|have been) (?:changed|extended)|(?:can|must|may|should|could) (?:be|"
        r"have been) \w+|(?:was|were|is|are|been) (?:\w+ )?(?:noted|reported) (?:that|as|to be|for)\b|"
        r"(?<=\w )that (?:was|were) (?:then |later )?\w+|(?:another |your (?:\w+ )?)(?:provider|network|"
        r"bank|carrier|operator|insurer|doctor|employer|landlord|supplier|manufacturer|retailer)\b[^.;!?]*?"
        r"\bthey\b[^.;!?]*"
    ),
)
