-- Running rollouts, their figures and their return, and the places of conversations in them.

-- What workers may know of trials, read with the owner's rights. ``granted_share`` is that of the last step;
-- null without a step that started the rollout: then nothing is tried.
CREATE OR REPLACE VIEW running_rollouts AS
SELECT t.id AS rollout_id, t.user_id, t.candidate_id, t.base_version, c.changes, t.share, t.plan,
       t.started_at, t.stepped_at, c.withdrawn_at IS NOT NULL AS withdrawn,
       CASE WHEN EXISTS (SELECT FROM trial_steps s WHERE s.trial_id = t.id AND s.kind = 'start')
            THEN (SELECT s.share FROM trial_steps s WHERE s.trial_id = t.id ORDER BY s.id DESC LIMIT 1)
       END AS granted_share
FROM trials t JOIN candidates c ON c.id = t.candidate_id
WHERE t.kind = 'rollout' AND t.state = 'running';

CREATE OR REPLACE FUNCTION hushgate_return_rollout(
    rollout uuid, why text, measured jsonb, moment timestamptz) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp AS $$
BEGIN
    UPDATE trials SET state = 'returned', stepped_at = moment
        WHERE id = rollout AND kind = 'rollout' AND state = 'running';
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    INSERT INTO trial_steps (trial_id, kind, share, made_by, automatic, reason, made_at, figures)
        VALUES (rollout, 'return', 0, 'guardrail', true, why, moment, measured);
    RETURN true;
END $$;

CREATE OR REPLACE FUNCTION hushgate_rollout_place(rollout uuid, conversation text) RETURNS bigint
LANGUAGE sql STABLE AS $$
    SELECT mod(('x' || left(encode(sha256(convert_to(rollout::text || ':' || conversation, 'UTF8')), 'hex'), 8))
        ::bit(32)::bigint, 10000)
$$;

CREATE OR REPLACE FUNCTION hushgate_rollout_figures(
    rollout uuid, moment timestamptz, blocked_codes text[], people_codes text[]) RETURNS jsonb
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp AS $$
    WITH made AS MATERIALIZED (
        SELECT d.id, d.conversation_id, d.candidate_id IS NOT NULL AS tried,
               (d.decision = 'escalate')::int AS escalated,
               (d.reason_code = ANY(blocked_codes))::int AS blocked,
               greatest(0, extract(epoch FROM d.created_at
                   - (d.snapshot_json ->> 'received_at')::timestamptz) * 1000)::float8 AS ms,
               (SELECT coalesce(sum(usd::float8), 0) FROM jsonb_path_query(
                   d.snapshot_json, '$.costs[*].usd ? (@.type() == "number")') AS usd) AS usd,
               s.state, w.ruling, w.weight
        FROM trials r JOIN ai_decisions d ON d.user_id = r.user_id
        LEFT JOIN review_states s ON s.decision_id = d.id AND s.state IN ('agree', 'overturn')
        LEFT JOIN LATERAL (
            SELECT v.ruling, 1 / i.chance AS weight
            FROM decision_reviews v JOIN queue_items i ON i.id = v.item_id JOIN queues q ON q.id = i.queue_id
            WHERE v.decision_id = s.decision_id AND v.ruling <> 'withdrawn' AND v.created_at < moment
                AND v.source NOT IN ('bulk', 'golden', 'blind') AND q.kind = 'sample' AND i.chance > 0
                AND NOT EXISTS (SELECT FROM decision_reviews later WHERE later.withdraws = v.id)
            ORDER BY v.created_at DESC, v.id DESC LIMIT 1
        ) w ON w.ruling <> 'unsure'
        WHERE r.id = rollout AND r.kind = 'rollout' AND d.created_at >= r.stepped_at AND d.created_at < moment
            AND d.reason_code <> ALL(people_codes)
            AND (d.candidate_id = r.candidate_id OR d.candidate_id IS NULL
                AND hushgate_rollout_place(r.id, d.conversation_id) >= round(r.share * 10000))
    ), units AS (
        SELECT tried, count(*) AS n, sum(escalated) AS escalated, sum(blocked) AS blocked, sum(ms) AS ms,
               sum(usd) AS usd, coalesce(sum(weight), 0) AS weight, coalesce(sum(weight ^ 2), 0) AS squares,
               coalesce(sum(weight) FILTER (WHERE ruling = 'overturn'), 0) AS overturned
        FROM made GROUP BY tried, conversation_id
    ), measured AS (
        SELECT units.tried, m.measure, m.hits, m.size, m.squares
        FROM units, LATERAL (VALUES
            ('overturns', overturned::float8, weight::float8, squares::float8),
            ('escalations', escalated::float8, n::float8, n::float8),
            ('blocks', blocked::float8, n::float8, n::float8),
            ('latency', ms, n::float8, n::float8), ('cost', usd, n::float8, n::float8)
        ) AS m (measure, hits, size, squares) WHERE m.size > 0
    ), whole AS (
        SELECT tried, percentile_cont(0.95) WITHIN GROUP (ORDER BY ms) AS p95_ms,
               count(*) FILTER (WHERE state IS NOT NULL AND weight IS NULL) AS left_out
        FROM made GROUP BY tried
    ), sums AS (
        SELECT tried, measure, count(*) AS units, sum(hits) AS hits, sum(size) AS size,
               sum(hits * hits) AS hits_squared, sum(hits * size) AS crossed, sum(size * size) AS size_squared,
               sum(size) ^ 2 / sum(squares) AS counted
        FROM measured GROUP BY tried, measure
    ), arms AS (
        SELECT tried, jsonb_build_object('p95_ms', coalesce(min(p95_ms), 0), 'left_out', min(left_out),
               'measures', jsonb_object_agg(measure, jsonb_build_object('units', units, 'hits',
                   coalesce(hits, 0), 'size', size, 'hits_squared', coalesce(hits_squared, 0), 'crossed',
                   coalesce(crossed, 0), 'size_squared', size_squared, 'counted', counted))) AS figures
        FROM sums JOIN whole USING (tried) GROUP BY tried
    )
    SELECT jsonb_object_agg(name, coalesce(figures, '{"p95_ms": 0, "left_out": 0, "measures": {}}'))
    FROM (VALUES ('live', false), ('candidate', true)) AS arm (name, tried) LEFT JOIN arms USING (tried)
$$;
