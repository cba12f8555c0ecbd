-- Append-only tables, and numbered versions of settings.

CREATE OR REPLACE FUNCTION hushgate_append_only() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, {schema}, pg_temp AS $$
BEGIN
    IF current_setting('hushgate.erasing', true) = 'on' THEN
        IF TG_OP = 'DELETE' THEN RETURN OLD; END IF;
        RETURN NEW;
    END IF;
    RAISE EXCEPTION '% is append-only: % refused', TG_TABLE_NAME, TG_OP
        USING HINT = 'corrections are rows of decision_reviews, changed rules are new versions; '
                     'to erase on request, SET LOCAL hushgate.erasing = on as the owner';
END $$;

CREATE OR REPLACE FUNCTION hushgate_next_version() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, {schema}, pg_temp AS $$
BEGIN
    IF NEW.version IS NULL THEN
        PERFORM pg_advisory_xact_lock(hashtextextended('ai_rules:' || NEW.user_id, 0));
        NEW.version := coalesce((SELECT max(version) FROM ai_rules WHERE user_id = NEW.user_id), 0) + 1;
    END IF;
    RETURN NEW;
END $$;
