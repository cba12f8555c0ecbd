-- Events that were given up, and dead letters.

CREATE OR REPLACE FUNCTION hushgate_take_over_key(
    account text, event text, entry text, decision uuid, moment timestamptz) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp AS $$
BEGIN
    UPDATE event_keys SET entry_id = entry, decision_id = decision, created_at = moment
    WHERE user_id = account AND event_id = event AND decision_id IS NULL AND entry_id <> entry;
    RETURN FOUND;
END $$;

CREATE OR REPLACE FUNCTION hushgate_key_of_buried_gone() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, {schema}, pg_temp AS $$
BEGIN
    INSERT INTO purged AS p (table_name, rows) VALUES ('event_keys', -1)
        ON CONFLICT ON CONSTRAINT pk_purged DO UPDATE SET rows = p.rows - 1;
    RETURN NULL;
END $$;

-- What a hold covers stays; the conservation check counts the others as deleted.
CREATE OR REPLACE FUNCTION hushgate_drop_letters(entries text[]) RETURNS SETOF text
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp AS $$
    WITH gone AS (
        DELETE FROM dead_letters l
        WHERE l.entry_id = ANY(entries) AND NOT hushgate_payload_is_held(l.raw)
        RETURNING l.entry_id
    ), counted AS (
        INSERT INTO purged AS p (table_name, rows)
        SELECT 'dead_letters', count(*) FROM gone HAVING count(*) > 0
        ON CONFLICT ON CONSTRAINT pk_purged DO UPDATE SET rows = p.rows + excluded.rows
    )
    SELECT entry_id FROM gone
$$;
