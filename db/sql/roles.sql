-- Roles of the services, and what PUBLIC may not do. Logins are members of a role: db/schema/logins.py.

DO $$
DECLARE
    role text;
BEGIN
    FOREACH role IN ARRAY ARRAY['hushgate_worker', 'hushgate_reviewer', 'hushgate_audit', 'hushgate_gateway'] LOOP
        BEGIN
            IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = role) THEN
                EXECUTE format('CREATE ROLE %I NOLOGIN', role);
            END IF;
        EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;  -- another migration made it meanwhile
        END;
        EXECUTE format('GRANT %I TO CURRENT_USER', role);
        EXECUTE format('GRANT USAGE ON SCHEMA {schema} TO %I', role);
    END LOOP;
    -- For a login that owns neither database nor schema these two are warnings; hushgate doctor reports it.
    EXECUTE format('REVOKE TEMPORARY ON DATABASE %I FROM PUBLIC', current_database());
    REVOKE CREATE ON SCHEMA {schema} FROM PUBLIC;
END $$;
