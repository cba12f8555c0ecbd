-- What people answered to the AI's decisions: the one definition of "answered by a person".
-- A decision has a row while its newest answer stands: neither cancelled in the outbox nor taken back.
-- state: approved (the AI's text as it was), edited (the AI's text, changed), written (a person's own text),
-- dismissed (closed without an answer; text is null). Read with the reader's own rights.

CREATE OR REPLACE VIEW answered_decisions WITH (security_invoker = true) AS
SELECT a.decision_id, a.decision_at, a.user_id, a.conversation_id, a.id AS answer_id,
       CASE a.outcome WHEN 'unchanged' THEN 'approved' WHEN 'edited' THEN 'edited'
                      WHEN 'dismissed' THEN 'dismissed' ELSE 'written' END AS state,
       a.text, a.person, a.created_at AS answered_at, o.delivered_at
FROM answers a
LEFT JOIN outbox o ON o.user_id = a.user_id AND o.event_id = 'person:' || a.id
WHERE o.cancelled_at IS NULL
    AND NOT EXISTS (SELECT FROM retractions r WHERE r.decision_id = a.id AND r.cancelled_at IS NULL)
    AND NOT EXISTS (SELECT FROM answers newer
                    WHERE newer.decision_id = a.decision_id
                        AND (newer.created_at, newer.id) > (a.created_at, a.id));
