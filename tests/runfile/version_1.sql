-- The tables of a run file of version 1.
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE servers (name TEXT PRIMARY KEY, digest TEXT, record TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE files (
  id INTEGER PRIMARY KEY,
  path TEXT NOT NULL,
  model TEXT NOT NULL,
  format TEXT NOT NULL,
  place TEXT UNIQUE
);

CREATE TABLE trajectories (
  id INTEGER PRIMARY KEY,
  file INTEGER NOT NULL REFERENCES files (id),
  name TEXT NOT NULL,
  task_type TEXT,
  question TEXT,
  steps INTEGER NOT NULL,
  calls INTEGER NOT NULL,
  digest TEXT NOT NULL,
  policy TEXT NOT NULL,
  done INTEGER NOT NULL DEFAULT 0,
  record BLOB NOT NULL,
  UNIQUE (file, name)
);
CREATE INDEX trajectories_by_type ON trajectories (task_type, file);

CREATE TABLE calls (
  id INTEGER PRIMARY KEY,
  trajectory INTEGER NOT NULL REFERENCES trajectories (id),
  ordinal INTEGER NOT NULL,
  file INTEGER NOT NULL,
  task_type TEXT,
  position TEXT NOT NULL,
  server TEXT,
  tool TEXT,
  outcome TEXT NOT NULL,
  reason TEXT,
  rule TEXT NOT NULL,
  evidence TEXT NOT NULL,
  certainty TEXT NOT NULL,
  message TEXT NOT NULL,
  recorded TEXT,
  replayed TEXT,
  drift TEXT,
  caused_by TEXT,
  gap TEXT,
  arguments TEXT,
  answer_key TEXT,
  details TEXT NOT NULL,
  UNIQUE (trajectory, ordinal)
);
CREATE INDEX calls_by_tool ON calls (server, tool, outcome, id);
CREATE INDEX calls_by_cause ON calls (file, trajectory, caused_by, outcome) WHERE caused_by IS NOT NULL;
CREATE TABLE tallies (
  file INTEGER NOT NULL, task_type TEXT NOT NULL, outcome TEXT NOT NULL, reason TEXT NOT NULL, n INTEGER NOT NULL,
  PRIMARY KEY (file, task_type, outcome, reason)
) WITHOUT ROWID;
CREATE TABLE kinds (
  id INTEGER PRIMARY KEY,
  file INTEGER NOT NULL, server TEXT NOT NULL, tool TEXT NOT NULL, outcome TEXT NOT NULL, reason TEXT NOT NULL,
  rule TEXT NOT NULL, evidence TEXT NOT NULL, certainty TEXT NOT NULL, drift TEXT NOT NULL, rooted INTEGER NOT NULL,
  n INTEGER NOT NULL,
  UNIQUE (file, server, tool, outcome, reason, rule, evidence, certainty, drift, rooted)
);
CREATE TABLE marks (
  trajectory INTEGER NOT NULL, ordinal INTEGER NOT NULL, call INTEGER NOT NULL, kind INTEGER NOT NULL,
  PRIMARY KEY (trajectory, ordinal)
) WITHOUT ROWID;
CREATE INDEX marks_by_kind ON marks (kind, trajectory, ordinal, call);
CREATE TRIGGER calls_inserted AFTER INSERT ON calls BEGIN
  INSERT INTO tallies VALUES (NEW.file, ifnull(NEW.task_type, ''), NEW.outcome, ifnull(NEW.reason, ''), 1)
  ON CONFLICT DO UPDATE SET n = n + 1;
  INSERT INTO kinds (file, server, tool, outcome, reason, rule, evidence, certainty, drift, rooted, n)
  VALUES (NEW.file, ifnull(NEW.server, ''), ifnull(NEW.tool, ''), NEW.outcome, ifnull(NEW.reason, ''), NEW.rule,
    NEW.evidence, NEW.certainty, ifnull(NEW.drift, ''), NEW.caused_by IS NOT NULL, 1)
  ON CONFLICT DO UPDATE SET n = n + 1;
  INSERT INTO marks SELECT NEW.trajectory, NEW.ordinal, NEW.id, id FROM kinds
  WHERE file = NEW.file AND server = ifnull(NEW.server, '') AND tool = ifnull(NEW.tool, '')
    AND outcome = NEW.outcome AND reason = ifnull(NEW.reason, '') AND rule = NEW.rule AND evidence = NEW.evidence
    AND certainty = NEW.certainty AND drift = ifnull(NEW.drift, '') AND rooted = (NEW.caused_by IS NOT NULL);
END;
CREATE TRIGGER calls_deleted AFTER DELETE ON calls BEGIN
  UPDATE tallies SET n = n - 1 WHERE file = OLD.file AND task_type = ifnull(OLD.task_type, '')
    AND outcome = OLD.outcome AND reason = ifnull(OLD.reason, '');
  UPDATE kinds SET n = n - 1
  WHERE id = (SELECT kind FROM marks WHERE trajectory = OLD.trajectory AND ordinal = OLD.ordinal);
  DELETE FROM marks WHERE trajectory = OLD.trajectory AND ordinal = OLD.ordinal;
END;
CREATE TABLE journal (
  trajectory INTEGER NOT NULL, position TEXT NOT NULL,
  PRIMARY KEY (trajectory, position)
) WITHOUT ROWID;
CREATE TABLE answers (
  key TEXT PRIMARY KEY, server TEXT NOT NULL, server_digest TEXT NOT NULL, tool TEXT NOT NULL,
  answer BLOB NOT NULL
);
CREATE TABLE alignments (file INTEGER PRIMARY KEY, record BLOB NOT NULL);
CREATE TABLE aligned_tasks (
  file INTEGER NOT NULL, task TEXT NOT NULL, record BLOB NOT NULL, PRIMARY KEY (file, task)
) WITHOUT ROWID;
CREATE TABLE reference_tasks (task TEXT PRIMARY KEY, record BLOB NOT NULL) WITHOUT ROWID;
CREATE VIRTUAL TABLE words USING fts5 (
  server, tool, arguments, message, content = 'calls', content_rowid = 'id', detail = 'none', columnsize = 0
);
CREATE TRIGGER words_inserted AFTER INSERT ON calls BEGIN
  INSERT INTO words (rowid, server, tool, arguments, message)
  VALUES (NEW.id, NEW.server, NEW.tool, NEW.arguments, NEW.message);
END;
CREATE TRIGGER words_deleted AFTER DELETE ON calls BEGIN
  INSERT INTO words (words, rowid, server, tool, arguments, message)
  VALUES ('delete', OLD.id, OLD.server, OLD.tool, OLD.arguments, OLD.message);
END;

INSERT INTO meta VALUES ('format', 'replay.run-file'), ('version', '1');
