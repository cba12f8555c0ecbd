"""How German, Spanish, French, Italian and Portuguese say that there is no answer."""

from __future__ import annotations

from worker.assessment.non_answers.grammar import Grammar

GERMAN = Grammar(
    admissions=(
        r"(?:das |es |dazu |hierzu )?(?:weiß|weiss|wissen) (?:ich|wir)(?: es| das| leider| auch| gerade|"
        r" derzeit)* nicht",
        r"(?:ich|wir) (?:weiß|weiss|wissen)(?: es| das| leider| auch| gerade| derzeit)* nicht",
        r"(?:ich |wir )?(?:bin|sind)(?: ich| wir| mir| uns| da| dabei| leider)* nicht(?: ganz)? sicher",
        r"(?:ich |wir )?(?:habe|haben)?(?: ich| wir| leider| davon)*\s?keine ahnung",
        r"(?:das |dazu |darauf |hierzu |diese frage |die frage |ihre frage |deine frage )*(?:ich |"
        r"wir )?(?:kann|können|"
        r"konnte|konnten)(?: ich| wir| ihnen| dir| euch| das| dazu| darauf| hierzu| es| leider| diese frage|"
        r" die frage| ihre frage| deine frage| auch| keine)* (?:nicht |keine antwort |nichts |nichts dazu )+"
        r"(?:sagen|beantworten|geben|finden|bestätigen|weiterhelfen|helfen|sicher sagen)?",
        r"(?:ich |wir |mir |uns |es |dazu |hierzu |darüber |leider )*(?:habe|haben|liegen|gibt|stehen|finde)?"
        r"(?: ich| wir| mir| uns| es| dazu| hierzu| darüber| leider)*\s?(?:keine|nicht genug|"
        r"nicht genügend|zu wenig|"
        r"nicht ausreichend) (?:ausreichenden |genauen |näheren |weiteren |konkreten |verlässlichen )?"
        r"(?:informationen|angaben|auskunft|antwort)(?=\s*(?:[^\w\s]|$)| (?:darauf|dazu|darüber|hierzu|zu|"
        r"über|vor|gefunden|vorhanden|"
        r"verfügbar|geben|finden|um)(?!\w))",
        r"ich kenne die antwort (?:leider )?nicht|(?:das |dies |es )?ist (?:mir|"
        r"uns)(?: leider)? nicht bekannt|da bin ich überfragt",
    ),
    filler=(
        r"leider|es tut mir leid|tut mir leid|das tut mir leid|entschuldigung|verzeihung|ehrlich gesagt|"
        r"dazu|hierzu|darüber|da|momentan|derzeit|im moment|aktuell|also|und|ich fürchte|zu ihrer frage|"
        r"zu deiner frage|daher|deshalb"
    ),
    sources=(
        r"(?:laut|gemäß|anhand|auf grundlage|auf basis|aus|in)(?: \w+){0,3} (?:unterlagen|dokument\w*|"
        r"text\w*|"
        r"quellen|informationen|passagen|abschnitten)(?: \w+){0,2}|(?:zu|bezüglich|was) [^.]*"
    ),
    contrasts=(r"allerdings|sondern|jedoch|da die|da das|da der|aber|denn|doch|weil"),
    dependent=r"(?:ob|wann|wie|was|wo|wer|welche[rsnm]?|warum|wieso|woher|wohin|weshalb)\b",
    condition=r"(?:wenn|falls)\b",
)

SPANISH = Grammar(
    admissions=(
        r"no (?:lo )?(?:sé|sabemos|sabría decir\w*)",
        r"no (?:estoy|estamos) segur[oa]s?",
        r"no (?:tengo|tenemos|dispongo de|disponemos de|cuento con|contamos con|hay|encuentro|encontré)"
        r" (?:(?:la|esa|esta|el|ese|una|suficientes?|más|ninguna|dicha) )*(?:información|respuesta|datos?|"
        r"idea|detalles)(?! ocult)",
        "no conozco la respuesta",
        r"no (?:puedo|podemos|sabría|pude|pudimos) (?:responder|contestar|confirmar|decir(?!le lo)|ayudar|"
        r"encontrar)\w*",
        r"no (?:he|hemos) (?:podido )?(?:encontrado|encontrar)",
        r"(?:lo )?(?:desconozco|desconocemos)",
        r"(?:no tengo )?ni idea",
        r"no se (?:menciona|especifica|indica)",
    ),
    filler=(
        r"lo siento|lo sentimos|lamentablemente|por desgracia|desafortunadamente|perdón|disculpa|"
        r"disculpe|la verdad|sinceramente|yo|nosotros|es que|en este momento|por ahora|ahora mismo|"
        r"actualmente|y|que|mucho|eso|por lo tanto|así que|a esa pregunta"
    ),
    sources=(
        r"(?:según|en|con|basándome en|de acuerdo con)(?: \w+){0,3} (?:documentos?|textos?|pasajes?|fuentes?|"
        r"información)(?: \w+){0,2}|(?:sobre|respecto a|en cuanto a) [^.]*"
    ),
    contrasts=(r"sin embargo|aunque|porque|ya que|pero|sino"),
    dependent=r"(?:si|cuándo|cómo|qué|dónde|quién|cuál)\b",
    condition=r"(?:cuando)\b",
)

FRENCH = Grammar(
    admissions=(
        r"(?:je|nous|on) (?:ne |n'en |n'|en )?(?:le |la |l')?(?:sais|savons|sait)(?: vraiment|"
        r" malheureusement)? pas",
        r"(?:je|nous) n'en (?:sais|savons) rien",
        r"(?:j'|nous l'|je l')(?:ignore|ignorons)",
        r"(?:je|nous) (?:ne )?(?:suis|sommes) pas(?: vraiment| tout à fait)? (?:sûre?s?|certaine?s?)",
        r"(?:je|nous) (?:n'ai|n'avons|ne dispose|ne disposons)(?: malheureusement)? (?:pas|aucune|d'aucune)"
        r" ?(?:(?:la|les|cette|ces|une|de|assez d'|suffisamment d'|d'|l') ?)*(?:informations?|réponse|"
        r"données|idée)(?! caché)",
        r"je ne connais pas la réponse",
        r"(?:je|nous) (?:ne )?(?:peux|pouvons|suis|sommes|saurais)(?: malheureusement)? (?:pas |"
        r"pas en mesure de )?"
        r"(?:vous |te |y |le )?(?:répondre|dire|confirmer|aider|renseigner)",
        r"(?:je|nous) (?:n'ai|n'avons) (?:rien|pas|pas pu) (?:trouvé|trouver)",
        r"je ne trouve pas",
        r"il n'y a (?:pas|aucune) ?(?:assez )?(?:d')?informations?",
        r"aucune idée|pas la moindre idée",
    ),
    filler=(
        r"désolée?|je suis désolée?|nous sommes désolés|malheureusement|pardon|excusez moi|hélas|"
        r"franchement|honnêtement|pour le moment|actuellement|à ce jour|et|donc|je crains que|je regrette"
    ),
    sources=(
        r"(?:d'après|selon|dans|sur la base)(?: \w+){0,3} (?:documents?|textes?|passages?|sources?|"
        r"informations?)(?: \w+){0,2}|(?:concernant|quant à|au sujet de) [^.]*"
    ),
    contrasts=(r"cependant|toutefois|parce que|néanmoins|pourtant|mais|car"),
    dependent=r"(?:si|quand|comment|où|qui|quoi|pourquoi|quel(?:le)?s?)\b",
    condition=r"(?:lorsque)\b",
)

ITALIAN = Grammar(
    admissions=(
        r"non (?:lo )?(?:so|sappiamo|saprei)",
        r"non (?:ne )?(?:sono|siamo) (?:sicur[oaie]|cert[oaie])",
        r"non (?:ho|abbiamo|ci sono|dispongo di|trovo) (?:(?:le|la|l'|una|queste?|questa|abbastanza|"
        r"sufficienti|altre) ?)*"
        r"(?:informazion[ei]|risposta|idea|dati|dettagli)(?! nascost)",
        r"non conosco la risposta",
        r"non (?:posso|possiamo|riesco a|sono in grado di) (?:rispond|conferm|dir|aiut|trov)\w+",
        r"non (?:ho|abbiamo) trovato",
        r"nessuna (?:idea|informazione)",
        r"non è (?:specificato|indicato|menzionato)",
    ),
    filler=(
        r"mi dispiace|ci dispiace|purtroppo|scusa|scusi|sinceramente|onestamente|al momento|per ora|e|"
        r"quindi|io|temo che|spiacente|spiacenti"
    ),
    sources=(
        r"(?:secondo|in base a[il]?|nei|nelle|nel|nella|dai|dalle)(?: \w+){0,2} (?:document[oi]|test[oi]|"
        r"pass[io]|font[ei]|informazioni)(?: \w+){0,2}|(?:riguardo a|quanto a) [^.]*"
    ),
    contrasts=(r"tuttavia|anche se|perché|però|ma"),
    dependent=r"(?:se|quando|come|dove|chi|cosa|quale|quali)\b",
    condition=r"(?:qualora)\b",
)

PORTUGUESE = Grammar(
    admissions=(
        r"não (?:o )?(?:sei|sabemos|saberia dizer)",
        r"não (?:tenho|temos|estou|estamos) (?:a )?(?:certeza|cert[oa]s?)",
        r"não (?:tenho|temos|há|disponho de|encontro|possuo) (?:(?:essas?|a|as|uma|mais|nenhuma) )*"
        r"(?:informaç(?:ão|ões)|resposta|ideia|dados|detalhes)(?: suficientes?)?(?! ocult)",
        r"não (?:posso|podemos|consigo|conseguimos) (?:\w+ )?(?:respond|confirm|diz|ajud|encontr)\w+",
        r"não (?:encontrei|encontramos)",
        r"desconheço|desconhecemos",
        r"não faço ideia",
        r"não é mencionado",
    ),
    filler=(
        r"desculpe|desculpa|lamento|lamentamos|infelizmente|sinto muito|sinceramente|eu|nós|no momento|"
        r"de momento|por enquanto|e|portanto|peço desculpa|lhe|te"
    ),
    sources=(
        r"(?:segundo|com base|de acordo com|nos|nas|no|na)(?: \w+){0,3} (?:documentos?|textos?|passagens|"
        r"fontes|"
        r"informações)(?: \w+){0,2}|(?:sobre|quanto a) [^.]*"
    ),
    contrasts=(r"no entanto|contudo|embora|porque|porém|mas"),
    dependent=r"(?:se|quando|como|onde|quem|qual|quais)\b",
    condition=r"(?:caso)\b",
)
