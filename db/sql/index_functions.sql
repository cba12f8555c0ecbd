-- Functions of indexes and defaults: they run before the tables are created.

CREATE OR REPLACE FUNCTION hushgate_marks(snapshot jsonb) RETURNS text[]
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 2500 AS $$
    SELECT array_agg(mark) FROM (
        SELECT (stage->>'stage') || ':' || (stage->>'outcome') AS mark
        FROM jsonb_array_elements(snapshot->'stages') AS stage WHERE stage->>'outcome' <> 'passed'
        UNION ALL SELECT 'tier:' || (snapshot #>> '{assessment,tier}')
    ) AS marks WHERE mark IS NOT NULL
$$;

-- The dictionaries are those for which Postgres has a stemmer and stop words; English first: it wins a draw.
CREATE OR REPLACE FUNCTION hushgate_word_vector(words text[]) RETURNS tsvector
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    WITH language AS MATERIALIZED (
        SELECT stemmer FROM (
            SELECT stemmer, place, count(*) AS stop_words
            FROM unnest(ARRAY[
                'pg_catalog.english_stem', 'pg_catalog.danish_stem', 'pg_catalog.dutch_stem',
                'pg_catalog.finnish_stem', 'pg_catalog.french_stem', 'pg_catalog.german_stem',
                'pg_catalog.hungarian_stem', 'pg_catalog.italian_stem', 'pg_catalog.norwegian_stem',
                'pg_catalog.portuguese_stem', 'pg_catalog.russian_stem', 'pg_catalog.spanish_stem',
                'pg_catalog.swedish_stem', 'pg_catalog.turkish_stem'
            ]::regdictionary[]) WITH ORDINALITY AS known (stemmer, place), unnest(words) AS word
            WHERE ts_lexize(stemmer, word) = '{}' GROUP BY stemmer, place
        ) AS counted WHERE place = 1 OR stop_words * 5 > cardinality(words)
        ORDER BY stop_words DESC, place LIMIT 1
    ), forms AS (
        SELECT form, least(place, 16383) AS place
        FROM unnest(words) WITH ORDINALITY AS given (word, place), LATERAL (
            SELECT unnest(ts_lexize('pg_catalog.english_stem', word))
            UNION SELECT unnest(ts_lexize((SELECT stemmer FROM language), word))
        ) AS stemmed (form)
    )
    SELECT coalesce(string_agg(quote_literal(form) || ':' || places, ' '), '')::tsvector
    FROM (SELECT form, string_agg(place::text, ',') AS places FROM forms GROUP BY form) AS placed
$$;

CREATE OR REPLACE FUNCTION hushgate_word_forms(word text) RETURNS text[]
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT CASE WHEN ts_lexize('pg_catalog.english_stem', word) = '{}' THEN '{}' ELSE ARRAY(
        SELECT DISTINCT form FROM unnest(ARRAY[
            'pg_catalog.english_stem', 'pg_catalog.danish_stem', 'pg_catalog.dutch_stem',
            'pg_catalog.finnish_stem', 'pg_catalog.french_stem', 'pg_catalog.german_stem',
            'pg_catalog.hungarian_stem', 'pg_catalog.italian_stem', 'pg_catalog.norwegian_stem',
            'pg_catalog.portuguese_stem', 'pg_catalog.russian_stem', 'pg_catalog.spanish_stem',
            'pg_catalog.swedish_stem', 'pg_catalog.turkish_stem'
        ]::regdictionary[]) AS stemmer, unnest(ts_lexize(stemmer, word)) AS form
    ) END
$$;
