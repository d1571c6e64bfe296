-- Stanchion's tables. Runs again without harm. To install them by hand: as a user that may create tables, in the
-- application's database. Then grant the application SELECT, INSERT, UPDATE and DELETE on them.

-- `floor`: no version and no fence that was ever given to a key without a row is above it.
CREATE TABLE IF NOT EXISTS stanchion_meta (
  name VARBINARY(32) NOT NULL PRIMARY KEY,
  value BIGINT UNSIGNED NOT NULL
) ENGINE=InnoDB;

-- Times are microseconds of the server's clock. A row without a value remembers its version and its fence.
CREATE TABLE IF NOT EXISTS stanchion_records (
  k VARBINARY(1024) NOT NULL PRIMARY KEY,
  value LONGBLOB,
  version BIGINT UNSIGNED NOT NULL,
  written BIGINT UNSIGNED NOT NULL,
  expires BIGINT UNSIGNED,
  fence BIGINT UNSIGNED,
  nonce BIGINT UNSIGNED
) ENGINE=InnoDB;

-- One row per key: the exclusive holder stands in it, so an uncontended lock is one statement. `queue` holds those who
-- share and those who wait, and is NULL without them. Whoever changes it compares `rev`, which every change raises.
CREATE TABLE IF NOT EXISTS stanchion_locks (
  k VARBINARY(1024) NOT NULL PRIMARY KEY,
  rev BIGINT UNSIGNED NOT NULL,
  fence BIGINT UNSIGNED NOT NULL,
  owner VARBINARY(32) NOT NULL,
  identity VARBINARY(700) NOT NULL,
  since BIGINT UNSIGNED NOT NULL,
  ends BIGINT UNSIGNED NOT NULL,
  queue LONGBLOB
) ENGINE=InnoDB;

-- Who wants to hear of a record's next change.
CREATE TABLE IF NOT EXISTS stanchion_watches (
  k VARBINARY(1024) NOT NULL,
  ear BIGINT UNSIGNED NOT NULL,
  ends BIGINT UNSIGNED NOT NULL,
  PRIMARY KEY (k, ear)
) ENGINE=InnoDB;

-- Who holds the locks of mode=session, and their counters. The lock itself is the server's GET_LOCK.
CREATE TABLE IF NOT EXISTS stanchion_sessions (
  k VARBINARY(1024) NOT NULL PRIMARY KEY,
  fence BIGINT UNSIGNED NOT NULL,
  owner VARBINARY(32) NOT NULL,
  identity VARBINARY(700) NOT NULL,
  since BIGINT UNSIGNED NOT NULL,
  connection BIGINT UNSIGNED NOT NULL
) ENGINE=InnoDB;

INSERT IGNORE INTO stanchion_meta (name, value) VALUES ('floor', 0);
INSERT IGNORE INTO stanchion_meta (name, value) VALUES ('schema', 1);
