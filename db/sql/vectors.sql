-- The column of vectors in a database that was made before its server had pgvector; run by each migrate.

DO $$
BEGIN
    IF (SELECT typtype = 'd' FROM pg_type WHERE oid = to_regtype('halfvec'))
        AND EXISTS (SELECT FROM pg_available_extensions
                    WHERE name = 'vector' AND string_to_array(default_version, '.')::int[] >= '{0,8}') THEN
        ALTER TABLE chunk_embeddings DROP COLUMN embedding;
        DROP DOMAIN halfvec;
        CREATE EXTENSION vector;
        ALTER TABLE chunk_embeddings ADD COLUMN embedding halfvec NOT NULL;
        -- neither compressed nor out of line, because searches read every vector of an account
        ALTER TABLE chunk_embeddings ALTER COLUMN embedding SET STORAGE PLAIN;
        COMMENT ON COLUMN chunk_embeddings.embedding IS 'length 1; as many numbers as its embedder''s dimensions';
    END IF;
END $$;
