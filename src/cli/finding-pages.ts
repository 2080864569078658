/** What each finding of a check or alarm of a checkpoint means and what can be done. */
export const FINDING_PAGES: Readonly<Record<string, string>> = {
  SQLITE_RAW:
    'A database was in use, and there was no means to copy it whole: neither the program sqlite3 nor a Node that can. It is recorded as it\nlay there, with its log, and may not open. Install sqlite3, or stop the agent; then agent checkpoint.',
  DATABASE_LOCKED:
    'A process kept a database locked for the whole time that a checkpoint waits. It is recorded as it lay there, and may not open. Stop the\nprocess (fuser -v FILE names it); then agent checkpoint.',
  DATABASE_EMPTY: 'A file with the name of a database has no bytes. It is recorded so; what made it may have failed.',
  DATABASE_ZEROED:
    'A file with the name of a database begins with zeros, as a disk leaves it after a crash. It is recorded so: look for an older state.',
  DATABASE_TABLELESS: 'A database has no table. It is recorded so; a program that makes its tables anew hides that they were lost.',
  DATABASE_DAMAGED:
    'SQLite finds a database damaged. It is recorded as it is. agent log names older states; sqlite3 COPY .recover saves what it can.',
  APPLEDOUBLE_SKIPPED:
    'A file of a Mac that only has the name of a database (._x.db). It is left out, and the database beside it is recorded.',
  SECRET_MISSING:
    'A credential that the agent had is not here: it did not come with the bundle, or it was lost. Supply it at the path that is named;\nagent recover brings credentials back where the host is lost.',
  SECRET_OUTSIDE: 'Credentials that lie outside of the directory are not recorded. Take them along by hand.',
  OUTSIDE_UNMERGED:
    'What lies outside of the directory came to a place where something else was, and lies beside it (.perdure-came). Until a person compared the\ntwo and removed one, what was recorded of it stays recorded.',
  FILE_CHANGING:
    'A file changed each time that it was read. It is recorded as last read, and may be torn. Stop what writes it; then agent checkpoint.',
  SPECIAL_SKIPPED: 'A socket, FIFO or device. It is never opened and not recorded.',
  MEMORY_VANISHED:
    'A file of memory that was recorded is gone. agent restore HEAD~1 PATH puts it back; agent checkpoint --declare memory-repair says that\nit is meant.',
  MEMORY_EMPTIED: 'A file of memory has no bytes any more. As MEMORY_VANISHED.',
  MEMORY_SHRUNK: 'A file that only grows is shorter than it was. As MEMORY_VANISHED.',
  MEMORY_UNPARSABLE: 'A JSON file parsed before, and does not any more. As MEMORY_VANISHED.',
  TABLE_EMPTIED: 'A table of a database had rows and has none, or is gone. As MEMORY_VANISHED; rows that come back settle it.',
  IDENTITY_CHANGED: 'The identity changed, and nobody said that it was meant: agent checkpoint --declare identity-update, or put it back.',
  BODY_CHANGED: 'The body changed, and nobody said that it was meant: agent checkpoint --declare evolve, or put it back.',
  NOT_HOLDER: 'The tree is whole, and this host is not the one that may act with it. That is no failure.',
  BASE_NEEDED: 'The bundle builds on a state that the target has. Verify it there, or pack it with --full.',
};
