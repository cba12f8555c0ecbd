-- Two numbers up to 1,000: how often an author of an account was flagged for a text within 30 days, and wrote
-- within an hour. Workers may not read the decisions; an erased author has none. A message that only its author's strikes block counts
-- as no strike, so that 30 days without a flagged text end the block.
CREATE OR REPLACE FUNCTION hushgate_author_counts(account text, author text) RETURNS bigint[]
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp AS $$
DECLARE
    strikes bigint;
    messages_1h bigint;
BEGIN
    SELECT count(*) INTO strikes FROM (
        SELECT FROM ai_decisions d
        WHERE d.user_id = account AND d.author_id = author AND d.created_at > now() - interval '30 days'
            AND d.reason_code IN ('FLAGGED_RULE', 'MODERATION_FLAGGED')
            AND coalesce(d.matched_rule, '') NOT LIKE 'flagged_author:%'
        LIMIT 1000) AS flagged;
    SELECT count(*) INTO messages_1h FROM (
        SELECT FROM ai_decisions d
        WHERE d.user_id = account AND d.author_id = author AND d.created_at > now() - interval '1 hour'
        LIMIT 1000) AS newest;
    RETURN ARRAY[strikes, messages_1h];
END $$;
