-- Triggers. Creating one waits for every transaction that uses its table: replace functions rather than triggers.

CREATE OR REPLACE TRIGGER append_only BEFORE UPDATE OR DELETE ON access_log
    FOR EACH ROW EXECUTE FUNCTION hushgate_append_only();
CREATE OR REPLACE TRIGGER append_only BEFORE UPDATE OR DELETE ON ai_decisions
    FOR EACH ROW EXECUTE FUNCTION hushgate_append_only();
CREATE OR REPLACE TRIGGER append_only BEFORE UPDATE OR DELETE ON ai_rules
    FOR EACH ROW EXECUTE FUNCTION hushgate_append_only();
CREATE OR REPLACE TRIGGER append_only BEFORE UPDATE OR DELETE ON answers
    FOR EACH ROW EXECUTE FUNCTION hushgate_append_only();
CREATE OR REPLACE TRIGGER append_only BEFORE UPDATE OR DELETE ON decision_reviews
    FOR EACH ROW EXECUTE FUNCTION hushgate_append_only();
CREATE OR REPLACE TRIGGER append_only_truncate BEFORE TRUNCATE ON access_log
    FOR EACH STATEMENT EXECUTE FUNCTION hushgate_append_only();
CREATE OR REPLACE TRIGGER append_only_truncate BEFORE TRUNCATE ON ai_decisions
    FOR EACH STATEMENT EXECUTE FUNCTION hushgate_append_only();
CREATE OR REPLACE TRIGGER append_only_truncate BEFORE TRUNCATE ON ai_rules
    FOR EACH STATEMENT EXECUTE FUNCTION hushgate_append_only();
CREATE OR REPLACE TRIGGER append_only_truncate BEFORE TRUNCATE ON answers
    FOR EACH STATEMENT EXECUTE FUNCTION hushgate_append_only();
CREATE OR REPLACE TRIGGER append_only_truncate BEFORE TRUNCATE ON decision_reviews
    FOR EACH STATEMENT EXECUTE FUNCTION hushgate_append_only();
CREATE OR REPLACE TRIGGER count_added AFTER INSERT ON chunks REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION hushgate_count_words();
CREATE OR REPLACE TRIGGER count_removed AFTER DELETE ON chunks REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION hushgate_count_words();
CREATE OR REPLACE TRIGGER end_exports AFTER DELETE ON ai_decisions
    FOR EACH ROW EXECUTE FUNCTION hushgate_end_exports();
CREATE OR REPLACE TRIGGER forget_rows AFTER DELETE ON ai_decisions REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION hushgate_forget_rows('decision');
CREATE OR REPLACE TRIGGER forget_rows AFTER DELETE ON decision_reviews REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION hushgate_forget_rows('review');
CREATE OR REPLACE TRIGGER forget_texts AFTER UPDATE ON ai_decisions REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION hushgate_forget_texts('decision');
CREATE OR REPLACE TRIGGER forget_texts AFTER UPDATE ON decision_reviews REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION hushgate_forget_texts('review');
CREATE OR REPLACE TRIGGER keep_sample_in BEFORE INSERT OR UPDATE ON outbox
    FOR EACH ROW WHEN (NEW.user_id = 'hushgate-sample') EXECUTE FUNCTION hushgate_keep_sample_in();
CREATE OR REPLACE TRIGGER keep_sample_in BEFORE INSERT OR UPDATE ON outgoing_events
    FOR EACH ROW WHEN (NEW.user_id = 'hushgate-sample') EXECUTE FUNCTION hushgate_keep_sample_in();
CREATE OR REPLACE TRIGGER keep_sample_in BEFORE INSERT OR UPDATE ON retractions
    FOR EACH ROW WHEN (NEW.user_id = 'hushgate-sample') EXECUTE FUNCTION hushgate_keep_sample_in();
CREATE OR REPLACE TRIGGER key_of_buried_gone AFTER DELETE ON event_keys
    FOR EACH ROW WHEN (OLD.decision_id IS NULL) EXECUTE FUNCTION hushgate_key_of_buried_gone();
CREATE OR REPLACE TRIGGER next_version BEFORE INSERT ON ai_rules
    FOR EACH ROW EXECUTE FUNCTION hushgate_next_version();
