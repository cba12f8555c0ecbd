-- The queues of a new database.

INSERT INTO queues (id, name, kind, created_by, golden_share, second_share, definition) VALUES
    (gen_random_uuid(), 'Handoffs to check', 'escalations', 'hushgate', 0.05, 0.1, '{}'),
    (gen_random_uuid(), 'Silent ignores, a sample', 'sample', 'hushgate', 0.05, 0.1,
        '{"share": 0.05, "drawn": "silent", "per": "reason_code", "seed": 1, "most": 500}'),
    (gen_random_uuid(), 'Objections', 'objections', 'hushgate', 0, 0, '{}'),
    (gen_random_uuid(), 'Second readings', 'second', 'hushgate', 0, 0, '{}');
