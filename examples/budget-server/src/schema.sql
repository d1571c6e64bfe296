-- The example's own tables. Runs again without harm; the locks, records and the guard bring theirs.
-- No CHECK (balance >= 0) anywhere: it would hide what the tools are here to show.

-- transfer_budget: protected by stanchion_guard, which refuses every write without a current token.
CREATE TABLE IF NOT EXISTS budgets (id text PRIMARY KEY, balance bigint NOT NULL);

-- transfer_budget_versioned: each write names the version that it read.
CREATE TABLE IF NOT EXISTS budgets_versioned (
  id text PRIMARY KEY, balance bigint NOT NULL, version bigint NOT NULL DEFAULT 1);

-- enqueue_report: what was made. The queue itself is in Stanchion's records.
CREATE TABLE IF NOT EXISTS reports (
  job_id text PRIMARY KEY, project text NOT NULL, kind text NOT NULL, made_at timestamptz NOT NULL DEFAULT now());

-- The article's tables.
CREATE TABLE IF NOT EXISTS article_projects (
  id text PRIMARY KEY, balance bigint NOT NULL, version bigint NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS article_locks (
  resource text PRIMARY KEY, token text NOT NULL, expires_at timestamptz NOT NULL);
CREATE TABLE IF NOT EXISTS article_idempotency_keys (
  key text PRIMARY KEY, response_body text NOT NULL, created_at timestamptz NOT NULL DEFAULT now());
CREATE TABLE IF NOT EXISTS article_jobs (
  id bigserial PRIMARY KEY, dedup_key text NOT NULL UNIQUE, state text NOT NULL DEFAULT 'queued',
  made bigint NOT NULL DEFAULT 0);
