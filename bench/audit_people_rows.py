"""What people and channels leave beside the decisions: reviews, queues, comments, appeals, answers."""

from __future__ import annotations

from typing import Final
from uuid import UUID

import psycopg

PICKED: Final = """
CREATE TEMP TABLE picked AS
    SELECT row_number() OVER (ORDER BY created_at) AS n, id, created_at, user_id, event_id, conversation_id,
        message_id, author_id, scope, decision, reason_code, message_text
    FROM ai_decisions WHERE abs(hashtext(event_id)::bigint) % 25 = 0 AND user_id LIKE 'account-%';
ANALYZE picked
"""
"""One decision in 25, numbered by time: each kind of row below is about a share of these."""
ACCOUNTS: Final = """
INSERT INTO ai_rules (user_id, version, ai_control_enabled, flagged_keywords, appeals_enabled,
        statements_enabled, changed_by, changed_at)
    SELECT 'account-' || account, version, true,
        ARRAY(SELECT 'w' || account || 'x' || each FROM generate_series(1, 200) AS each), true, true, 'bench',
        now() - make_interval(days => 30 - 5 * version)
    FROM generate_series(0, 199) AS account, generate_series(1, 5) AS version ON CONFLICT DO NOTHING;
INSERT INTO documents (user_id, title, source, content_hash)
    SELECT 'account-' || account, 'Document ' || each, 'source-' || each, md5(account || '/' || each)
    FROM generate_series(0, 199) AS account, generate_series(1, 20) AS each;
INSERT INTO chunks (document_id, number, user_id, text, title)
    SELECT id, number, user_id, repeat('We are open from nine to six. ', 20), title
    FROM documents, generate_series(1, 10) AS number WHERE content_hash = md5(substr(user_id, 9) || '/'
        || substr(source, 8));
INSERT INTO account_costs (user_id, grain, start, purpose, model, slot, decisions, prompt_tokens, nano_usd)
    SELECT 'account-' || account, grain, start::date, 'answer', 'bench-model', 0, 800, 900000, 40000000
    FROM generate_series(0, 199) AS account, (
        SELECT 'day' AS grain, current_date - each AS start FROM generate_series(0, 29) AS each
        UNION ALL SELECT 'month', date_trunc('month', current_date)) AS spans;
INSERT INTO candidates (id, user_id, base_version, changes, note, source, created_by)
    SELECT uuidv7(interval '-3 days'), 'account-' || account, 5, '{"flagged_keywords": ["lamp"]}', 'a try',
        'person', 'bench'
    FROM generate_series(0, 199) AS account;
INSERT INTO trials (id, user_id, kind, candidate_id, base_version, changes, share, plan, stepped_at)
    SELECT uuidv7(interval '-3 days'), user_id, 'rollout', id, base_version, changes, 0.5,
        '{"bounds": ["blocks<=0.2"], "least": 100, "metric": "blocks", "planned": 500}',
        now() - interval '3 days'
    FROM candidates WHERE created_by = 'bench';
INSERT INTO trials (id, user_id, kind, state, base_version, changes, since, until, plan, done, counts,
        examples)
    SELECT uuidv7(interval '-3 days'), user_id, 'backtest', 'finished', 5, '{"flagged_keywords": ["lamp"]}',
        now() - interval '1 day', now(), '{"total": 1000}', 1000, '{"unchanged": 992, "newly_stopped": 8}',
        jsonb_agg(jsonb_build_object('decision_id', id, 'group', 'newly_stopped', 'before', 'REPLIED',
            'after', 'FLAGGED_RULE'))
    FROM (SELECT user_id, id, row_number() OVER (PARTITION BY user_id ORDER BY id DESC) AS place
          FROM ai_decisions WHERE created_at > now() - interval '1 day') AS newest
    WHERE place <= 8 GROUP BY user_id;
INSERT INTO golden_sets (id, user_id, name, created_by)
    SELECT uuidv7(), 'account-' || account, 'Bench set', 'bench' FROM generate_series(0, 199) AS account;
INSERT INTO figure_notes (user_id, at, text, created_by)
    SELECT CASE WHEN each % 2 = 0 THEN '' ELSE 'account-1' END, now() - make_interval(hours => each * 7),
        'A new version', 'bench' FROM generate_series(1, 100) AS each
"""
PEOPLE: Final = """
INSERT INTO people (id, login, name, password_hash)
    SELECT gen_random_uuid(), 'bench-reviewer-' || n, 'Reviewer ' || n, 'none that verifies'
    FROM generate_series(1, 200) AS n ON CONFLICT DO NOTHING;
INSERT INTO person_roles (person_id, user_id, role, granted_by)
    SELECT id, 'account-' || substr(login, 16)::integer - 1, 'reviewer', 'bench' FROM people
    WHERE login LIKE 'bench-reviewer-%' ON CONFLICT DO NOTHING;
CREATE TEMP TABLE staff AS
    SELECT row_number() OVER (ORDER BY login) - 1 AS number, id, login FROM people
    WHERE login LIKE 'bench-reviewer-%';
INSERT INTO invitations (id, token_hash, login, user_id, role, invited_by, created_at, expires_at)
    SELECT gen_random_uuid(), decode(md5(number::text), 'hex'), 'new-' || number || '@example.org',
        'account-' || number, 'viewer', id, now(), now() + interval '1 day' FROM staff;
INSERT INTO access_log (at, person_id, person, action, user_id, decision_id, address)
    SELECT picked.created_at, staff.id, staff.login, (ARRAY['read', 'list', 'reveal'])[1 + n % 3],
        picked.user_id, picked.id, '127.0.0.1'
    FROM picked JOIN staff ON staff.number = picked.n % 200, generate_series(1, 5) ORDER BY 1
"""
REVIEWS: Final = """
INSERT INTO decision_reviews (id, decision_id, decision_at, user_id, person_id, person, ruling,
        corrected_decision, reason_code, note, source, created_at)
    SELECT gen_random_uuid(), decision_id, decision_at, user_id, staff.id, staff.login,
        CASE WHEN state = 'disputed' THEN 'overturn' ELSE state END,
        CASE WHEN state IN ('overturn', 'disputed') THEN 'respond' END, '', 'read by a person', 'queue',
        least(decision_at + interval '3 hours', now())
    FROM review_states JOIN staff ON staff.number = abs(hashtext(decision_id::text)::bigint) % 200
    WHERE state <> 'open';
INSERT INTO queues (id, name, kind) SELECT gen_random_uuid(), 'Bench queue ' || n, 'hand'
    FROM generate_series(1, 8) AS n;
INSERT INTO queue_items (queue_id, decision_id, decision_at, user_id, done_at, created_at)
    SELECT queues.id, picked.id, picked.created_at, picked.user_id,
        CASE WHEN n % 10 > 0 THEN least(picked.created_at + interval '3 hours', now()) END, picked.created_at
    FROM picked JOIN queues ON queues.name = 'Bench queue ' || 1 + n % 8;
INSERT INTO golden_items (decision_id, decision_at, user_id, ruling, created_by)
    SELECT id, created_at, user_id, 'agree', 'bench' FROM picked WHERE n % 400 = 0
"""
COLLABORATION: Final = """
INSERT INTO decision_comments (id, decision_id, decision_at, user_id, person_id, person, text, created_at)
    SELECT gen_random_uuid(), picked.id, picked.created_at, user_id, staff.id, staff.login,
        'Please look at this again.', picked.created_at
    FROM picked JOIN staff ON staff.number = n % 200, generate_series(1, 2) WHERE n % 10 = 0;
INSERT INTO comment_mentions (comment_id, person_id, user_id, seen_at)
    SELECT decision_comments.id, staff.id, user_id,
        CASE WHEN staff.number % 3 = 0 THEN now() END
    FROM decision_comments JOIN staff ON staff.number =
        abs(hashtext(decision_comments.id::text)::bigint) % 200;
INSERT INTO decision_assignments (decision_id, decision_at, user_id, person_id, change, assigned_by,
        done_at)
    SELECT picked.id, picked.created_at, user_id, staff.id, gen_random_uuid(), 'bench',
        CASE WHEN n % 4 > 0 THEN now() END
    FROM picked JOIN staff ON staff.number = n % 200 WHERE n % 10 = 5;
INSERT INTO subject_notes (id, user_id, kind, subject, text, person)
    SELECT gen_random_uuid(), user_id, 'author', author_id, 'Writes in capitals.', 'bench'
    FROM picked WHERE n % 10 = 1;
INSERT INTO subject_tags (user_id, kind, subject, tag, added_by)
    SELECT user_id, 'author', author_id, 'regular', 'bench' FROM picked WHERE n % 10 = 2
    ON CONFLICT DO NOTHING
"""
ANSWERS: Final = """
INSERT INTO escalations (decision_id, user_id, event_id, conversation_id, message_id, author_id, scope,
        reason_code, queue, opened_at, closed_at, closed_by, cause)
    SELECT id, user_id, event_id, conversation_id, message_id, author_id, scope, reason_code, '', created_at,
        CASE WHEN rank > 1 OR n % 20 > 0 THEN now() END, CASE WHEN rank > 1 OR n % 20 > 0 THEN 'bench' END,
        CASE WHEN rank > 1 OR n % 20 > 0
            THEN (ARRAY['idle', 'reviewed', 'answered'])[least(3, 1 + n % 10)] END
    FROM (SELECT picked.*, row_number() OVER (PARTITION BY user_id, conversation_id ORDER BY created_at DESC)
        AS rank FROM picked WHERE decision = 'escalate') AS each;
INSERT INTO held_drafts (user_id, conversation_id, message_id, decision_id, reason_code, kind, text,
        send_before, created_at, expires_at)
    SELECT user_id, conversation_id, message_id, id,
        CASE WHEN n % 10 = 0 THEN 'HELD_FOR_APPROVAL' ELSE reason_code END, 'reply',
        'We are open from nine to six. [1]', created_at + interval '1 day', created_at,
        created_at + interval '31 days'
    FROM picked WHERE reason_code LIKE 'LOW_CONFIDENCE%' OR n % 10 = 0;
INSERT INTO answers (id, decision_id, decision_at, user_id, conversation_id, message_id, scope, outcome, text,
        person_id, person, released, rules_version, created_at)
    SELECT gen_random_uuid(), picked.id, created_at, user_id, conversation_id, message_id, scope, 'written',
        'From nine to six.', staff.id, staff.login, false, 1, least(created_at + interval '1 hour', now())
    FROM picked JOIN staff ON staff.number = n % 200 WHERE decision = 'escalate';
INSERT INTO outbox (user_id, event_id, decision_id, conversation_id, message_id, scope, text, created_at,
        delivered_at, cancelled_at, origin)
    SELECT user_id, 'person:' || id, id, conversation_id, message_id, scope, text, created_at,
        CASE WHEN chance > 0 THEN created_at END, CASE WHEN chance = 0 THEN created_at END, 'person'
    FROM (SELECT *, abs(hashtext(id::text)::bigint) % 200 AS chance FROM answers) AS each;
INSERT INTO conversations (user_id, conversation_id, people_until, changed_at, changed_by, cause, changes)
    SELECT user_id, conversation_id, max(created_at) + interval '1 hour', max(created_at), 'bench',
        'command', 1
    FROM picked WHERE n % 5 = 3 GROUP BY 1, 2 ON CONFLICT DO NOTHING;
INSERT INTO quarantine (user_id, conversation_id, message_id, decision_id, role, text, created_at, expires_at,
        place)
    SELECT user_id, conversation_id, message_id, id, 'user', message_text, created_at,
        created_at + interval '30 days', n FROM picked WHERE reason_code LIKE '%FLAGGED%';
INSERT INTO event_keys (user_id, event_id, entry_id, decision_id, created_at)
    SELECT user_id, event_id, n || '-0', id, created_at FROM picked ON CONFLICT DO NOTHING
"""
FEEDBACK: Final = """
INSERT INTO customer_feedback (id, decision_id, decision_at, user_id, conversation_id, message_id, author_id,
        thumb, wrong, rated_at, created_at, joined_at)
    SELECT own_id, id, created_at, user_id, conversation_id, message_id, author_id,
        CASE WHEN n % 9 = 0 THEN 'down' WHEN n % 9 = 3 THEN 'up' END,
        CASE WHEN n % 9 = 0 THEN true WHEN n % 9 = 3 THEN false END, own_at, own_at, own_at
    FROM (SELECT picked.*, lead(id) OVER later AS own_id, lead(created_at) OVER later AS own_at
        FROM picked WINDOW later AS (PARTITION BY user_id ORDER BY n)) AS each
    WHERE decision = 'respond' AND n % 3 = 0 AND own_id IS NOT NULL;
INSERT INTO unmoderated_texts (decision_id, decided_at, user_id, conversation_id, message_id, author_id,
        event_id, scope, roles, checked_at, result, matched_rule)
    SELECT id, created_at, user_id, conversation_id, message_id, author_id, event_id, scope, '{user}',
        CASE WHEN n % 200 > 0 THEN created_at + interval '1 hour' END,
        CASE WHEN n % 50 = 10 THEN 'flagged' WHEN n % 200 > 0 THEN 'clear' END,
        CASE WHEN n % 50 = 10 THEN 'openai_moderation:violence' END
    FROM picked WHERE decision = 'respond' AND n % 10 = 0;
INSERT INTO checks (user_id, event_id, decision_id, created_at, conversation_id, author_id, request_hash,
        verdict)
    SELECT user_id, event_id, id, created_at, conversation_id, author_id, md5(event_id), '{"action": "send"}'
    FROM picked JOIN ai_decisions USING (user_id, id, created_at, event_id, conversation_id, author_id)
    WHERE snapshot_json ->> 'type' = 'check' ON CONFLICT DO NOTHING;
INSERT INTO queue_items (queue_id, decision_id, decision_at, user_id, stratum, done_at, created_at)
    SELECT queues.id, decision_id, decision_at, user_id, min(objection),
        CASE WHEN abs(hashtext(decision_id::text)::bigint) % 3 > 0 THEN now() END, min(objected_at)
    FROM objections, queues WHERE kind = 'objections' GROUP BY 1, 2, 3, 4 ON CONFLICT DO NOTHING;
UPDATE queues SET filled_to = now() WHERE kind <> 'hand'
"""
TRIALS: Final = """
INSERT INTO trials (id, user_id, kind, candidate_id, base_version, changes, done, counts)
    SELECT uuidv7(interval '-2 days'), user_id, 'shadow', id, base_version, changes, 500, '{"unchanged": 490}'
    FROM candidates WHERE created_by = 'bench';
INSERT INTO trial_steps (trial_id, kind, made_by, reason)
    SELECT id, 'start', 'bench', 'a try' FROM trials, generate_series(1, 5);
INSERT INTO shadow_results (id, shadow_id, decision_id, candidate_id, user_id, conversation_id, author_id,
        decision_at, kind, before_code, decision, reason_code, reason)
    SELECT uuidv7(), trials.id, picked.id, candidate_id, user_id, conversation_id, author_id, created_at,
        'newly_stopped', picked.reason_code, 'ignore', 'FLAGGED_RULE', 'a keyword'
    FROM picked JOIN trials USING (user_id) WHERE kind = 'shadow' AND n % 10 = 3;
INSERT INTO golden_set_items (id, set_id, user_id, row_id, source, conversation_id, author_id, expected,
        labelled_by, content, recorded_at)
    SELECT uuidv7(), id, user_id, number::text, 'import', '', '', 'answer', 'bench',
        jsonb_build_object('event', jsonb_build_object('event_id', number::text, 'entry_id', '1-0',
            'user_id', user_id, 'scope', 'chat', 'conversation_id', '', 'message_id', '', 'author_id', '',
            'text', 'When are you open?', 'created_at', now(), 'received_at', now())), now()
    FROM golden_sets, generate_series(1, 500) AS number;
INSERT INTO figure_goals (user_id, measure, share, set_by)
    SELECT 'account-' || account, measure, 0.1, 'bench' FROM generate_series(0, 199) AS account,
        unnest(ARRAY['blocked', 'escalated', 'failed', 'overturned']) AS measure;
INSERT INTO sign_in_attempts (at, address, login, worked)
    SELECT at, address, person, true FROM access_log WHERE id % 10 = 0
"""
APPEALS: Final = """
INSERT INTO appeals (id, decision_id, decision_at, user_id, event_id, conversation_id, message_id, author_id,
        scope, source, text, entered_by, created_at, due_at, outcome, statement, decided_by, decided_at,
        effect, settled_at)
    SELECT gen_random_uuid(), id, created_at, user_id, event_id, conversation_id, message_id, author_id,
        scope, 'api', 'I meant it kindly.', 'bench', created_at, created_at + interval '14 days', outcome,
        left(outcome, 0) || 'We looked again.', left(outcome, 0) || 'bench',
        CASE WHEN outcome IS NOT NULL THEN now() END, left(outcome, 0) || 'none',
        CASE WHEN outcome IS NOT NULL THEN now() END
    FROM (SELECT picked.*, CASE WHEN n % 80 > 0 THEN 'upheld' END AS outcome FROM picked
        WHERE decision = 'ignore' AND n % 8 = 0) AS each;
INSERT INTO legal_holds (id, user_id, kind, subject, reason, placed_by)
    SELECT gen_random_uuid(), user_id, 'author', author_id, 'a letter', 'bench' FROM picked WHERE n % 100 = 3;
INSERT INTO erasures (id, user_id, kind, salt, subject_hash, reason, requested_by, phase, erased, receipt,
        confirmed_at, confirmed_by, started_at, finished_at)
    SELECT gen_random_uuid(), user_id, 'author', 'salt', 'hash', 'a letter', 'bench', 'finished',
        '{"ai_decisions": 3}', '{"erased": {"ai_decisions": 3}}', now(), 'bench', now(), now()
    FROM picked WHERE n % 100 = 4
"""
WEBHOOKS: Final = """
INSERT INTO webhook_endpoints (id, user_id, url, types, secret, secret_hint, created_by, state,
        disabled_reason)
    SELECT gen_random_uuid(), 'account-' || n, 'https://example.com/hooks', '{reply.created}', 'whsec_none',
        'whsec_…', 'bench', 'disabled', 'person' FROM generate_series(0, 199) AS n;
INSERT INTO outgoing_events (user_id, conversation_id, type, key, body, created_at, streamed_at,
        fanned_out_at)
    SELECT user_id, conversation_id, 'reply.created', id::text, '{"text": "From nine to six."}', created_at,
        created_at, created_at FROM picked ORDER BY created_at;
INSERT INTO webhook_deliveries (endpoint_id, event_row, user_id, conversation_id, state, status, created_at,
        ended_at)
    SELECT webhook_endpoints.id, event.id, event.user_id, conversation_id, 'succeeded', 200, event.created_at,
        event.created_at FROM outgoing_events AS event JOIN webhook_endpoints USING (user_id)
"""
OWN: Final = """
INSERT INTO jobs (id, person_id, kind, params, state, total, done, finished_at)
    SELECT gen_random_uuid(), %(id)s, 'export',
        '{"query": "", "form": "ndjson", "bom": false, "site": "", "accounts": []}', 'done', 0, 0, now()
    FROM generate_series(1, 200);
INSERT INTO saved_views (id, person_id, name, query) SELECT gen_random_uuid(), %(id)s, 'View ' || n,
    'decision=ignore' FROM generate_series(1, 40) AS n;
INSERT INTO api_tokens (id, person_id, name, token_hash, prefix, expires_at)
    SELECT gen_random_uuid(), %(id)s, 'Program ' || n, decode(md5(%(id)s::text || n), 'hex'), 'hgt_',
        now() + interval '1 day'
    FROM generate_series(1, 20) AS n;
INSERT INTO comment_mentions (comment_id, person_id, user_id) SELECT id, %(id)s, user_id
    FROM decision_comments ORDER BY id LIMIT 2000;
UPDATE decision_assignments SET person_id = %(id)s WHERE decision_id IN (
    SELECT decision_id FROM decision_assignments WHERE done_at IS NULL ORDER BY decision_at DESC LIMIT 500);
INSERT INTO decision_reviews (id, decision_id, decision_at, user_id, person_id, person, ruling, source)
    SELECT gen_random_uuid(), decision_id, decision_at, user_id, %(id)s, 'bench', 'agree', 'queue'
    FROM queue_items WHERE done_at IS NOT NULL ORDER BY decision_at DESC LIMIT 2000
"""
"""What the measured person has: exports, views, mentions, assignments and reviews."""


def fill_people_rows(connection: psycopg.Connection) -> None:
    """Add the rows to a filled audit at the newest migration."""
    for statement in (
        PICKED,
        ACCOUNTS,
        PEOPLE,
        REVIEWS,
        COLLABORATION,
        ANSWERS,
        FEEDBACK,
        TRIALS,
        APPEALS,
        WEBHOOKS,
        "VACUUM ANALYZE",
    ):
        for each in statement.split(";\n"):
            connection.execute(each.encode())


def fill_own_rows(connection: psycopg.Connection, person_id: UUID) -> None:
    """Add what belongs to one person."""
    for each in OWN.split(";\n"):
        connection.execute(each.encode(), {"id": person_id})
