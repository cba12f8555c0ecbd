"""How German, Spanish and French promise an action."""

from __future__ import annotations

from worker.assessment.promises.grammar import PromiseGrammar

_DE_DONE = (
    r"(?:weitergeleitet|weitergegeben|erstattet|rückerstattet|zurückerstattet|storniert|gebucht|reserviert|"
    r"informiert|benachrichtigt|kontaktiert|gesendet|geschickt|verschickt|versendet|übergeben|eskaliert|"
    r"geändert|"
    r"aktualisiert|eingetragen|angelegt|veranlasst|vorgemerkt|verschoben|verlängert|umgebucht|gelöscht|"
    r"zurückgelegt|angerufen|beauftragt|überwiesen|gutgeschrieben|eingeleitet|verbunden|zugesandt|erstellt)"
)
_DE_DO = (
    r"(?:weiterleiten|weitergeben|erstatten|zurückerstatten|stornieren|buchen|reservieren|informieren|"
    r"benachrichtigen|kontaktieren|melden|zurückmelden|senden|schicken|zusenden|zuschicken|übergeben|"
    r"verbinden|"
    r"anrufen|zurückrufen|schreiben|kümmern|prüfen lassen|ändern|aktualisieren|eintragen|anlegen|veranlassen|"
    r"vormerken|verschieben|verlängern|umbuchen|löschen|zurücklegen|nachfragen|klären|beantworten|"
    r"antworten|überweisen|"
    r"gutschreiben|einleiten|bescheid geben|in verbindung setzen|helfen|übernehmen)"
)
_DE_PEOPLE = (
    r"(?:kolleg(?:e|in|en|innen)|mitarbeiter(?:in|innen|s)?|team|kundenservice|kundendienst|support|"
    r"berater(?:in)?|"
    r"techniker(?:in)?|jemand|fachabteilung|abteilung|chef(?:in)?|ansprechpartner(?:in)?)"
)

GERMAN = PromiseGrammar(
    own=(
        rf"(?:ich werde|werde ich)\b[^.!?]{{0,80}}?\b{_DE_DO}",
        rf"(?:ich habe|habe ich)\b[^.!?]{{0,80}}?\b{_DE_DONE}",
        r"ich (?:leite|gebe|verbinde|schicke|sende|storniere|erstatte|buche|reserviere|informiere|"
        r"kontaktiere|melde mich|"
        r"kümmere mich|veranlasse|frage|kläre|übergebe|rufe|trage|notiere|prüfe das|"
        r"überweise)\b(?! ich\b)[^.!?]{0,60}"
        r"(?:weiter|sie|ihnen|dich|dir|nach|ab|zurück|darum|ihre|ihren|deine|deinen|das|ein|an|euch)\b",
        r"ich melde mich|einen moment,? ich (?:verbinde|frage|prüfe)",
    ),
    team=(
        rf"{_DE_PEOPLE}(?: [\w-]+){{0,4}}? (?:wird|werden)\b[^.!?]{{0,80}}?\b{_DE_DO}",
        rf"{_DE_PEOPLE}(?: [\w-]+){{0,4}}? (?:meldet sich|melden sich|kümmert sich|kümmern sich|ruft sie|"
        r"ruft dich|"
        r"kontaktiert sie|kontaktiert dich|übernimmt|wurde (?:informiert|benachrichtigt)|antwortet ihnen|"
        r"schreibt ihnen)",
        rf"(?:wir werden|werden wir)\b[^.!?]{{0,80}}?\b{_DE_DO}",
        rf"(?:wir haben|haben wir)\b[^.!?]{{0,80}}?\b{_DE_DONE}",
        r"wir melden uns|wir (?:rufen|kontaktieren|informieren|benachrichtigen) (?:sie|dich|euch)|"
        r"wir kümmern uns|"
        r"wir (?:leiten|geben) (?:ihre|deine|das|die|es)\b[^.!?]{0,50}weiter",
        r"(?:ihr|ihre|dein|deine|der|die|das)(?: [\w-]+){1,3} (?:wurde|wird|ist)\b[^.!?]{0,40}?"
        rf"\b{_DE_DONE}",
        r"(?:sie werden|du wirst|sie erhalten|du erhältst|sie bekommen|"
        r"du bekommst)\b[^.!?]{0,60}?\b(?:kontaktiert|"
        r"angerufen|benachrichtigt|zurückgerufen|(?:von uns )?hören|rückruf|(?:bestätigungs)?e-?mail|"
        r"antwort|erstattung|bestätigung)\b",
    ),
    not_promised=r"(?:wenn|falls|sobald|nachdem) (?:ich|wir|sie)\b[^,.]*|kann ich|können wir",
)

_ES_ACT = (
    r"(?:contactar|llamar|escribir|avisar|notificar|informar|responder|reenviar|remitir|transferir|"
    r"conectar|comunicar|"
    r"reembolsar|devolver|cancelar|anular|reservar|cambiar|actualizar|enviar|mandar|gestionar|tramitar|abrir|"
    r"consultar|preguntar|ocupar|encargar|pasar|derivar|escalar|procesar|registrar|solicitar|programar|"
    r"revisar|poner)"
)
_ES_DONE = (
    r"(?:(?:contact|llam|avis|notific|inform|reenvi|transfer|reembols|cancel|anul|reserv|cambi|actualiz|"
    r"envi|mand|"
    r"gestion|tramit|consult|pas|deriv|escal|proces|registr|solicit|program|traslad)[aí]d|remitid|emitid|"
    r"devuelt|"
    r"abiert|escrit)[oa]s?"
)
_ES_OBJECT = r"(?:(?:me|te|le|les|se|lo|la|nos)(?: lo| la)? )*"
_ES_PEOPLE = (
    r"(?:compañer[oa]s?|equipo|agente|colega|personal|técnic[oa]|especialista|asesor(?:a)?|encargad[oa]|"
    r"alguien|"
    r"servicio al cliente|atención al cliente|departamento|representante|responsable)"
)

SPANISH = PromiseGrammar(
    own=(
        rf"{_ES_OBJECT}(?:voy a|vamos a) {_ES_ACT}(?:me|te|le|les|lo|la|nos|nos|selo|los|las)*\b",
        rf"(?<!\w){_ES_OBJECT}(?:{_ES_ACT[3:-1]})é(?!\w)",
        r"(?:me pondré en contacto|le pongo en contacto|te pongo en contacto|me encargo de|me ocupo de|"
        r"me encargaré|"
        r"te paso con|le paso con|le transfiero|te transfiero|pondré|déjame (?:consultar|revisar|comprobar|"
        r"preguntar))",
        rf"{_ES_OBJECT}(?<!\w)he (?:ya )?{_ES_DONE}(?!\w)",
    ),
    team=(
        rf"{_ES_PEOPLE}(?: [\w]+){{0,4}}? {_ES_OBJECT}(?:{_ES_ACT}(?:á|án)|pondrá|pondrán|va a {_ES_ACT}|"
        r"atenderá)\b",
        rf"{_ES_OBJECT}{_ES_ACT}emos\b|nos pondremos en contacto|nos encargaremos|nos ocuparemos",
        rf"{_ES_OBJECT}hemos {_ES_DONE}\b",
        rf"(?:su|tu|el|la)(?: \w+){{1,3}}? (?:ha sido|será|está siendo|fue) {_ES_DONE}\b",
        r"(?:recibirá|recibirás) (?:un|una|el|la|su|tu) (?:\w+ )?(?:llamada|correo|email|mensaje|respuesta|"
        r"reembolso|"
        r"confirmación)",
    ),
    not_promised=(
        r"no (?:me |te |le |lo |la |se )*(?:voy|vamos|he|hemos|podré|podremos)\b[^,.]*|"
        r"si (?:ya )?ha[sn]? [^,.]*"
    ),
)

_FR_ACT = (
    r"(?:contacter|rappeler|appeler|écrire|prévenir|avertir|informer|notifier|répondre|transférer|"
    r"transmettre|envoyer|"
    r"rembourser|annuler|réserver|modifier|changer|mettre|demander|vérifier|occuper|charger|passer|rediriger|"
    r"procéder|enregistrer|créer|ouvrir|traiter|programmer|faire|recontacter|tenir|revenir|prendre contact)"
)
_FR_DONE = (
    r"(?:contacté|rappelé|appelé|écrit|prévenu|averti|informé|notifié|transféré|transmis|envoyé|remboursé|"
    r"annulé|réservé|"
    r"modifié|changé|mis|demandé|vérifié|redirigé|enregistré|créé|ouvert|traité|programmé|procédé|initié)e?s?"
)
_FR_OBJECT = r"(?:(?:vous|te|t'|m'|me|le|la|l'|les|lui|en|y|nous) ?)*"
_FR_PEOPLE = (
    r"(?:collègues?|équipe|agent|conseiller|conseillère|quelqu'un|technicien|spécialiste|service client|"
    r"service après-vente|responsable|personne|collaborateur|collaboratrice)"
)

FRENCH = PromiseGrammar(
    own=(
        rf"je (?:vais|viens de) {_FR_OBJECT}(?:immédiatement |tout de suite )?{_FR_ACT}\b",
        rf"j'ai (?:bien |déjà |également |immédiatement )*{_FR_DONE}\b|je (?:vous |t')ai (?:bien |"
        rf"déjà )?{_FR_DONE}\b",
        rf"je {_FR_OBJECT}(?:contacterai|rappellerai|appellerai|écrirai|préviendrai|informerai|répondrai|"
        r"transférerai|"
        r"transmettrai|enverrai|rembourserai|annulerai|réserverai|modifierai|demanderai|vérifierai|occuperai|"
        r"reviendrai|recontacterai|tiendrai)\b",
        r"je (?:vous |te |m'en |m'|le |la )*(?:transfère|transmets|mets en relation|passe un|envoie|"
        r"rembourse|annule|"
        r"réserve|occupe|charge|redirige|contacte)\b|laissez-moi (?:vérifier|demander|transférer|contacter)",
    ),
    team=(
        rf"{_FR_PEOPLE}(?: [\w'-]+){{0,4}}? (?:{_FR_OBJECT})(?:contactera|contacteront|rappellera|"
        r"appellera|écrira|répondra|"
        r"recontactera|recontacteront|reviendra|prendra|prendront|traitera|occupera|informera|enverra|"
        rf"va {_FR_OBJECT}{_FR_ACT}|a été (?:prévenu|informé|averti)e?)",
        rf"nous (?:allons|venons de) {_FR_OBJECT}{_FR_ACT}\b|nous avons (?:bien |déjà )?{_FR_DONE}\b|"
        rf"nous vous avons {_FR_DONE}\b",
        rf"nous {_FR_OBJECT}(?:contacterons|rappellerons|répondrons|transmettrons|enverrons|rembourserons|"
        r"annulerons|"
        r"informerons|recontacterons|reviendrons|tiendrons|occuperons|appellerons)\b",
        rf"(?:votre|ta|ton|la|le)(?: [\w'-]+){{1,3}}? (?:a été|sera|est en cours d'être) {_FR_DONE}\b",
        r"vous (?:serez (?:contacté|rappelé|remboursé|informé|mis en relation)e?s?|(?:recevrez|"
        r"allez recevoir) (?:un|une|"
        r"votre|le|la) (?:\w+ )?(?:appel|e-?mail|message|réponse|remboursement|confirmation|courriel))",
    ),
    not_promised=r"ne (?:vais|peux|pouvons|serez)\b[^,.]*|si (?:vous|nous|j)[^,.]*",
)
