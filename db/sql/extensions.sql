-- Extensions of Postgres: vectors, indexes of words, similar texts.

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_available_extensions WHERE name = 'vector') THEN
        RAISE EXCEPTION 'this Postgres has no pgvector: install pgvector 0.8 or later beside the server';
    END IF;
END $$;
CREATE EXTENSION IF NOT EXISTS vector;
CREATE EXTENSION IF NOT EXISTS btree_gin;
CREATE EXTENSION IF NOT EXISTS pg_trgm;
