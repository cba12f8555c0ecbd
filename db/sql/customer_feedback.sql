-- What counts: the newest marks of each author about a decision, and every remark without a mark. The one join
-- of feedback and decisions. The newest marks are the end of an index: an author may send thousands.
-- Read with the reader's own rights.

CREATE OR REPLACE VIEW standing_feedback WITH (security_invoker = true) AS
SELECT f.id, f.decision_id, f.decision_at, f.user_id, f.author_id, f.thumb, f.rating, f.resolved, f.wrong, f.rated_at,
       f.joined_at
FROM customer_feedback f
WHERE f.decision_id IS NOT NULL
    AND (num_nonnulls(f.thumb, f.rating, f.resolved) = 0 OR f.id = (
        SELECT newest.id FROM customer_feedback newest
        WHERE num_nonnulls(newest.thumb, newest.rating, newest.resolved) > 0
            AND newest.decision_id = f.decision_id AND newest.author_id = f.author_id
        ORDER BY newest.rated_at DESC, newest.id DESC LIMIT 1));

-- What objects to a decision after the decision: a customer who calls a text of the AI wrong that was sent or
-- passed a check, and moderation that flags a text which passed without a result.
CREATE OR REPLACE VIEW objections WITH (security_invoker = true) AS
SELECT f.decision_id, f.decision_at, f.user_id, f.joined_at AS objected_at, 'feedback' AS objection
FROM standing_feedback f
JOIN ai_decisions d ON d.created_at = f.decision_at AND d.id = f.decision_id
WHERE f.wrong AND NOT d.snapshot_json ? 'erased' AND (
    EXISTS (SELECT FROM outbox o WHERE o.user_id = d.user_id AND o.event_id = d.event_id
                AND o.decision_id = d.id AND o.origin = 'ai' AND o.delivered_at IS NOT NULL)
    OR EXISTS (SELECT FROM answered_decisions a
               WHERE a.decision_id = f.decision_id AND a.state IN ('approved', 'edited')
                   AND a.delivered_at IS NOT NULL)
    OR EXISTS (SELECT FROM checks c WHERE c.decision_id = d.id AND c.verdict->>'text' IS NOT NULL))
UNION ALL
SELECT u.decision_id, u.decided_at, u.user_id, u.checked_at, 'late_moderation'
FROM unmoderated_texts u WHERE u.result = 'flagged';
