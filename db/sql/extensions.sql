-- Extensions of Postgres: indexes of words, similar texts, and vectors where the server has pgvector.

CREATE EXTENSION IF NOT EXISTS btree_gin;
CREATE EXTENSION IF NOT EXISTS pg_trgm;

-- Without pgvector, or with a version that has no halfvec, documents are searched by words. The domain holds
-- the place of the type; vectors.sql replaces it when the extension arrives.
DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_available_extensions
               WHERE name = 'vector' AND string_to_array(default_version, '.')::int[] >= '{0,8}') THEN
        CREATE EXTENSION IF NOT EXISTS vector;
        -- only its owner may, who is another one where an administrator made it
        IF (SELECT string_to_array(extversion, '.')::int[] < '{0,8}' FROM pg_extension WHERE extname = 'vector') THEN
            ALTER EXTENSION vector UPDATE;
        END IF;
    ELSE
        CREATE DOMAIN halfvec AS text;
    END IF;
END $$;
