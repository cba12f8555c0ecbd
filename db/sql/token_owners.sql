-- The person of an API token, without what only a sign-in needs. Read with the owner's rights.

CREATE OR REPLACE VIEW token_owners AS
SELECT p.id, p.login, p.name, p.disabled_at, p.must_change_password, p.language, p.time_zone,
       p.password_hash IS NOT NULL AS has_password,
       EXISTS (SELECT FROM second_factors f WHERE f.person_id = p.id AND f.confirmed_at IS NOT NULL)
           AS second_factor,
       (SELECT jsonb_agg(jsonb_build_array(r.user_id, r.role) ORDER BY r.user_id, r.role)
        FROM person_roles r WHERE r.person_id = p.id) AS grants
FROM people p;
