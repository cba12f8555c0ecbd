-- Word frequencies of documents, and the storage of vectors.

-- Neither compressed nor out of line, because searches read every vector of an account.
ALTER TABLE chunk_embeddings ALTER COLUMN embedding SET STORAGE PLAIN;

CREATE OR REPLACE FUNCTION hushgate_count_words() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, {schema}, pg_temp AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO account_words AS known (user_id, lexeme, chunks)
        SELECT user_id, lexeme, count(*) FROM changed,
            LATERAL (SELECT '' UNION ALL SELECT unnest(tsvector_to_array(lexemes))) AS held (lexeme)
        GROUP BY user_id, lexeme ORDER BY user_id, lexeme
        ON CONFLICT (user_id, lexeme) DO UPDATE SET chunks = known.chunks + excluded.chunks;
    ELSE
        UPDATE account_words AS known SET chunks = known.chunks - gone.chunks
        FROM (
            SELECT user_id, lexeme, count(*) AS chunks FROM changed,
                LATERAL (SELECT '' UNION ALL SELECT unnest(tsvector_to_array(lexemes))) AS held (lexeme)
            GROUP BY user_id, lexeme
        ) AS gone
        WHERE known.user_id = gone.user_id AND known.lexeme = gone.lexeme;
        DELETE FROM account_words AS known USING (SELECT DISTINCT user_id FROM changed) AS of
        WHERE known.user_id = of.user_id AND known.chunks <= 0;
    END IF;
    RETURN NULL;
END $$;
