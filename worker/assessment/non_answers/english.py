"""How English says that there is no answer."""

from __future__ import annotations

from worker.assessment.non_answers.grammar import Grammar

_ADVERB = (
    r"(?: (?:really|actually|currently|honestly|yet|also|even|just|simply|quite|still|exactly|fully|at all))*"
)
_I = rf"(?:i|we){_ADVERB}"
_I_AM = rf"(?:i'm|i am|we're|we are){_ADVERB}"
_NOT = r"(?:do not|don't|dont|did not|didn't)"
_CANNOT = (
    rf"(?:(?:{_I} )?(?:cannot|can't|can not|could not|couldn't)|(?:{_I_AM} )?(?:unable to|not able to)|"
    rf"(?:{_I} )?(?:was|were) (?:unable|not able) to){_ADVERB}"
)
_NOUN = r"(?:answers?|information|info|details?|data|knowledge|context|insight)"
_SOME = (
    r"(?:(?:an?|any|the|that|this|such|enough|sufficient|specific|further|more|reliable|clear|exact|detailed|"
    r"definite|definitive|accurate|additional|relevant) )*"
)
_ABOUT = (
    r"(?=\s*(?:[^\w\s]|$)| (?:on|about|regarding|concerning|for|to|that|at|in|available|here|yet|which|"
    r"whether|"
    r"of|right|from|as|currently|or|when|how|what|why|who)\b)"
)
_PAPERS = (
    r"(?:documents?|documentation|passages?|context|texts?|sources?|information|knowledge base|faqs?|"
    r"excerpts?)"
)
_DO_NOT = r"(?:do not|does not|did not|don't|doesn't|didn't)"
_SAY = (
    r"(?:mention|say|state|specify|answer|address|tell|discuss|indicate|describe|cover|contain|include|"
    r"provide|"
    r"give|have)"
)
_GIVEN = (
    r"(?: (?:that |which )?(?:(?:i|we) (?:have been given|was given|were given|have|had|got|received)|"
    r"you (?:gave|provided|sent|supplied)(?: (?:me|us))?|(?:was|were|are|is) (?:given|provided|available))|"
    r" provided| given| above| available| supplied| at hand)*"
)
_PAPERS_GIVEN = rf"{_PAPERS}{_GIVEN}"
_NOTHING_SAYS = (
    r"(?:answers?|says?|mentions?|states?|addresses|address|tells?|covers?|describes?|specifies|specify|"
    r"explains?|contains?|discuss(?:es)?|speaks? (?:of|about|to)|refers? to|relates? to|helps?)"
)

ENGLISH = Grammar(
    admissions=(
        rf"{_I} (?:{_NOT}|would not|wouldn't){_ADVERB} know",
        rf"{_I_AM} not{_ADVERB} (?:entirely |completely |100% )?(?:sure|certain|confident)",
        rf"{_I_AM} (?:unsure|uncertain)",
        r"(?:i'm|i am) not familiar with",
        r"not sure|don't know|do not know",
        rf"{_CANNOT} say(?! (?:no|thank|enough|goodbye))",
        rf"(?:i|we) (?:have not|haven't){_ADVERB} (?:found|been able to (?:find|answer|determine|confirm))",
        r"(?:it(?: is|'s) )?not possible to (?:say|tell|determine|know|answer)|(?:i|we) know nothing",
        rf"the answer(?: is|'s| isn't)(?: not)? in (?:[\w']+ )*{_PAPERS}",
        rf"{_CANNOT} (?:answer|determine|confirm|verify|advise|comment|tell(?! you how))",
        rf"{_CANNOT} (?:help|assist)(?! but)",
        rf"{_CANNOT} find",
        rf"{_CANNOT} (?:provide|give|offer)(?: you)?(?: with)? {_SOME}(?:{_NOUN}|response|advice|figure)"
        rf"{_ABOUT}",
        rf"{_I} (?:{_NOT}){_ADVERB} have {_SOME}(?:access to {_SOME})?(?:{_NOUN}|idea|clue){_ABOUT}",
        rf"(?:{_I} have |{_I_AM} lacking )?(?:no|insufficient|not enough) {_SOME}(?:{_NOUN}){_ABOUT}",
        rf"(?:i|we) lack {_SOME}(?:{_NOUN}){_ABOUT}",
        rf"there(?:(?: is|'s| was| are)(?: no| not| insufficient)| isn't| aren't| wasn't) {_SOME}"
        rf"(?:{_NOUN}|mention){_ABOUT}",
        r"(?:i (?:really |honestly )?(?:have|'ve got) |i've )?(?:absolutely )?no (?:idea|clue)(?!s|\w|"
        r" \w+s\b)",
        r"(?:i )?haven't (?:a clue|any idea|the faintest idea)|i wish i knew|i dunno|dunno|idk|beats me",
        rf"(?:(?:the|my|our|these|those|given|provided|"
        rf"available) )*{_PAPERS_GIVEN} {_DO_NOT}{_ADVERB} {_SAY}",
        rf"(?:nothing|none)(?: (?:in|of|from))?(?: [\w']+){{0,4}} {_PAPERS_GIVEN} {_NOTHING_SAYS}",
        rf"(?:no|none|neither) (?:[\w']+ ){{0,2}}{_PAPERS_GIVEN} {_NOTHING_SAYS}",
        r"(?:that|this|it|the answer)(?: is|'s| was) not (?:mentioned|stated|specified|known)",
        rf"(?:that|this|it|the answer)(?: is|'s| was|isn't) not (?:covered|given|included|described|"
        rf"listed) in "
        rf"(?:[\w']+ )*{_PAPERS}",
        r"(?:it|that|this)(?: is|'s) (?:unclear|not clear)"
        r"(?=\s*(?:[^\w\s]|$)| (?:from|whether|if|what|how|when|which|who|why)\b)",
        r"(?:it(?: is|'s) |that(?: is|'s) )?(?:hard|difficult|impossible) to say(?! (?:no|goodbye))",
        r"(?:that(?: is|'s) |it(?: is|'s) |this is )?(?:beyond|outside(?: of)?) (?:my|our) (?:knowledge|"
        r"scope)",
        r"(?:i|we)(?: would|'d) rather not guess|(?:i|we) (?:do not|don't) want to guess",
    ),
    filler=(
        r"i'm|i am|we're|we are|sorry|afraid|apologies|i apologi[sz]e|my|unfortunately|sadly|regrettably|"
        r"honestly|to be honest|frankly|well|hmm+|oh|um+|so|as of now|at the moment|at this time|"
        r"at present|at this point|for that|for now|currently|right now|i have to say|i must admit|"
        r"i have to admit|admittedly|that|and|then|therefore|(?:that's |that is )?(?:an? )?(?:good|great|"
        r"excellent|interesting) question|no|please|for the inconvenience|thank you for your (?:patience|"
        r"understanding)|an ai(?: \w+){0,2}|about that|also|say that|i regret|but|thus|it seems|"
        r"it seems that|it looks like|it appears|it appears that|i think|i fear"
    ),
    sources=(
        rf"(?:based on|according to|given|from|in|with|using|within|looking at)(?: [\w'-]+){{0,5}} {_PAPERS}"
        r"(?: [\w'-]+){0,3}|(?:as for|as to|regarding|concerning|with regard to|about) [^.]*"
    ),
    contrasts=(
        r"only that|and there|although|and they|and your|however|because|and the|and our|and you|though|"
        r"except|and it|and we|since|and i|but|yet|as"
    ),
    dependent=r"(?:what|when|where|which|why|who)\b",
    condition=r"(?:if|when|while|whether)\b",
)
