-- Rights of the four roles. A role has what stands here and no more.

-- Workers, relays and beat.
GRANT SELECT ON account_words, ai_rules, alembic_version, appeals, chunk_embeddings, chunks,
    documents, embedders, erasure_items, erasures, model_servers, retention_limits, running_rollouts,
    webhook_endpoints TO hushgate_worker;
GRANT SELECT, INSERT ON budget_crossings, checks, customer_feedback, escalations, event_keys, outbox,
    outgoing_events, retractions TO
    hushgate_worker;
GRANT SELECT, INSERT, DELETE ON compiled_rules, messages TO hushgate_worker;
GRANT SELECT, INSERT, UPDATE ON account_costs, conversations, unmoderated_texts, webhook_deliveries TO
    hushgate_worker;
GRANT INSERT (person, action, user_id, decision_id, detail) ON access_log TO hushgate_worker;
GRANT INSERT ON ai_decisions, dead_letters, duplicates, held_drafts, quarantine, recordings TO
    hushgate_worker;
GRANT UPDATE (decision_id, decision_at, joined_at) ON customer_feedback TO hushgate_worker;
GRANT UPDATE (settled_at) ON appeals TO hushgate_worker;
GRANT SELECT (entry_id) ON dead_letters TO hushgate_worker;
GRANT SELECT (id, person) ON decision_reviews TO hushgate_worker;
GRANT UPDATE (alive_at) ON erasures TO hushgate_worker;
GRANT UPDATE (closed_at, closed_by, cause) ON escalations TO hushgate_worker;
GRANT UPDATE (delivered_at, cancelled_at, cancel_reason, cancel_settled, retraction_id, retract_from, sent_as) ON
    outbox TO hushgate_worker;
GRANT UPDATE (streamed_at, fanned_out_at, withdrawn) ON outgoing_events TO hushgate_worker;
GRANT UPDATE (delivered_at) ON retractions TO hushgate_worker;
GRANT SELECT (decision_id, state, last_review, updated_at) ON review_states TO hushgate_worker;
GRANT UPDATE (state, disabled_reason, failures, failing_since, failed_at, paused_until, failing_share) ON
    webhook_endpoints TO hushgate_worker;

-- Review pages, API and command line of people.
GRANT SELECT ON account_costs, ai_decisions, alembic_version, answered_decisions, audit_log_checkpoints,
    audit_log_leaves, audit_log_nodes, audit_log_removals, budget_crossings, checks, compiled_rules,
    customer_feedback, dead_letters, duplicates, embedders, erasures, event_keys, held_drafts, objections,
    purged, recordings, retention_limits, standing_feedback, unmoderated_texts TO hushgate_reviewer;
GRANT SELECT, INSERT ON access_log, ai_rules, answers, appeals, candidates, chunk_embeddings, chunks,
    decision_comments, decision_reviews, document_files, escalations, legal_holds, outbox, outgoing_events,
    shadow_results, subject_notes, trial_steps, trials TO hushgate_reviewer;
GRANT SELECT, INSERT, DELETE ON comment_mentions, documents, figure_notes, golden_set_items, golden_sets,
    messages, oidc_states, quarantine, second_factors, sign_in_attempts, sign_in_links, subject_tags TO
    hushgate_reviewer;
GRANT SELECT, INSERT, UPDATE ON api_tokens, conversations, decision_assignments, model_servers, people, queue_items,
    queues, retractions, review_states, webhook_deliveries TO hushgate_reviewer;
GRANT SELECT, INSERT, UPDATE, DELETE ON account_words, figure_counts, figure_goals,
    figure_parts, figure_spans, figure_spreads, golden_items, invitations, job_parts, jobs,
    learning_suggestions, person_roles, saved_views, sessions TO hushgate_reviewer;
GRANT INSERT, UPDATE, DELETE ON webhook_endpoints TO hushgate_reviewer;
GRANT UPDATE (outcome, statement, decided_by, decided_at, review_id, effect) ON appeals TO
    hushgate_reviewer;
GRANT UPDATE (withdrawn_at) ON candidates TO hushgate_reviewer;
GRANT UPDATE (embedding) ON chunk_embeddings TO hushgate_reviewer;
GRANT UPDATE (flags, released_at, released_by) ON chunks TO hushgate_reviewer;
GRANT UPDATE (seen_at) ON comment_mentions TO hushgate_reviewer;
GRANT UPDATE (retried_at, retried_as) ON dead_letters TO hushgate_reviewer;
GRANT UPDATE (text, withdrawn_at) ON decision_comments TO hushgate_reviewer;
GRANT INSERT (model, dimensions, asked_dimensions, state, activated_at) ON embedders TO hushgate_reviewer;
GRANT UPDATE (created_at) ON embedders TO hushgate_reviewer;
GRANT UPDATE (closed_at, closed_by, cause) ON escalations TO hushgate_reviewer;
GRANT UPDATE (purpose, version, changed_at) ON golden_sets TO hushgate_reviewer;
GRANT UPDATE (released_at, released_by) ON legal_holds TO hushgate_reviewer;
GRANT UPDATE (cancelled_at, cancel_reason, cancel_settled, retraction_id, retract_from) ON outbox TO
    hushgate_reviewer;
GRANT UPDATE (secret, confirmed_at, last_step, recovery_hashes) ON second_factors TO hushgate_reviewer;
GRANT UPDATE (worked) ON sign_in_attempts TO hushgate_reviewer;
GRANT UPDATE (state, share, stepped_at, reached_at, reached_id, done, counts, examples, day, day_decisions,
    day_usd, usd) ON trials TO hushgate_reviewer;
GRANT SELECT (id, user_id, url, description, types, state, disabled_reason, secret_hint, old_secret_until,
    failures, failing_since, failed_at, paused_until, created_by, created_at) ON webhook_endpoints TO
    hushgate_reviewer;

-- The gateway: whose API token it is and what it allows, no password hash and no key of a second factor. It
-- appends refusals to the access log.
GRANT SELECT (id, person_id, token_hash, scopes, fail_open, used_at, expires_at, revoked_at) ON api_tokens TO
    hushgate_gateway;
GRANT UPDATE (used_at) ON api_tokens TO hushgate_gateway;
GRANT SELECT ON token_owners TO hushgate_gateway;
GRANT INSERT (person_id, person, action, user_id, decision_id, detail, address) ON access_log TO
    hushgate_gateway;

-- The transparency log.
GRANT SELECT ON ai_decisions, audit_log_removals, decision_reviews, erasures, retention_limits TO
    hushgate_audit;
GRANT SELECT, INSERT ON audit_log_checkpoints, audit_log_leaves, audit_log_nodes TO hushgate_audit;
GRANT UPDATE (through) ON audit_log_checkpoints TO hushgate_audit;
GRANT USAGE ON SEQUENCE messages_id_seq TO hushgate_worker, hushgate_reviewer;

-- Functions with the owner's rights, and those that they call. Functions of indexes stay callable by all.
REVOKE ALL ON FUNCTION hushgate_add_stream_counts, hushgate_added, hushgate_append_only, hushgate_author_counts,
    hushgate_begin_erasure, hushgate_cancel_erasure, hushgate_confirm_erasure, hushgate_count_words,
    hushgate_drop_letters, hushgate_drop_partitions, hushgate_end_exports, hushgate_ensure_partitions,
    hushgate_entry_until, hushgate_erase_again, hushgate_erase_copies, hushgate_erase_decisions,
    hushgate_erase_filters, hushgate_erase_queries, hushgate_erase_rows, hushgate_erasure_field,
    hushgate_erasure_receipt, hushgate_erasure_scope, hushgate_event_is_held, hushgate_expire_held_drafts,
    hushgate_finish_erasure, hushgate_forget_dropped, hushgate_forget_rows, hushgate_forget_texts,
    hushgate_has_rights, hushgate_in_payload, hushgate_is_held, hushgate_json_forms,
    hushgate_keep_sample_in, hushgate_key_of_buried_gone, hushgate_leaf_names, hushgate_line_is_of,
    hushgate_lock_log, hushgate_merge_texts, hushgate_next_erasure_phase, hushgate_next_version, hushgate_payload_is_held,
    hushgate_payload_names, hushgate_preview_erasure, hushgate_query_finds, hushgate_query_names,
    hushgate_query_reaches, hushgate_remove_sample, hushgate_request_erasure, hushgate_retention_due,
    hushgate_retention_limit, hushgate_retention_tables, hushgate_return_rollout, hushgate_rollout_figures,
    hushgate_rollout_place, hushgate_rotate_secret, hushgate_sign_erasure, hushgate_sole_customer,
    hushgate_store_event, hushgate_store_preview, hushgate_stream_counts, hushgate_sweep_rows,
    hushgate_take_over_key, hushgate_telling_words, hushgate_tombstone, hushgate_url_decoded, hushgate_utc_text, hushgate_uuid_time,
    hushgate_without FROM PUBLIC;
GRANT EXECUTE ON FUNCTION hushgate_forget_dropped, hushgate_lock_log TO hushgate_audit;
GRANT EXECUTE ON FUNCTION hushgate_cancel_erasure, hushgate_confirm_erasure, hushgate_drop_letters,
    hushgate_remove_sample, hushgate_request_erasure, hushgate_rotate_secret, hushgate_word_vector TO
    hushgate_reviewer;
GRANT EXECUTE ON FUNCTION hushgate_add_stream_counts, hushgate_author_counts, hushgate_begin_erasure, hushgate_drop_partitions,
    hushgate_ensure_partitions, hushgate_erase_again, hushgate_erase_decisions, hushgate_erase_queries,
    hushgate_erase_rows, hushgate_erasure_scope, hushgate_expire_held_drafts, hushgate_finish_erasure,
    hushgate_merge_texts, hushgate_next_erasure_phase, hushgate_preview_erasure, hushgate_sign_erasure, hushgate_store_event,
    hushgate_store_preview, hushgate_sweep_rows, hushgate_take_over_key TO hushgate_worker;
GRANT EXECUTE ON FUNCTION hushgate_retention_due, hushgate_return_rollout, hushgate_rollout_figures,
    hushgate_word_forms TO hushgate_worker, hushgate_reviewer;
