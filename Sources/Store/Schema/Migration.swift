// The database schema, step by step. A step that has been released never changes; a change is a new step at
// the end.

/// One step of the schema.
package struct Migration: Sendable {
  package let sqlite: [String]
  package let postgres: [String]

  /// The version a store has after all steps.
  package static var latest: Int { all.count }

  /// All steps. A store of version n has had the first n of them.
  package static let all: [Migration] = [
    Migration(
      sqlite: [
        "CREATE TABLE callgate_meta (name TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL) STRICT, WITHOUT ROWID",
        """
        CREATE TABLE callgate_allowance (
          id BLOB PRIMARY KEY NOT NULL, mark INTEGER NOT NULL, used INTEGER NOT NULL, expires INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID
        """,
        "CREATE INDEX callgate_allowance_expires ON callgate_allowance (expires)",
        """
        CREATE TABLE callgate_stop (
          scope TEXT NOT NULL, id TEXT NOT NULL, action TEXT NOT NULL, since INTEGER NOT NULL,
          PRIMARY KEY (scope, id, action)
        ) STRICT, WITHOUT ROWID
        """,
      ],
      postgres: [
        "CREATE TABLE callgate_meta (name text PRIMARY KEY, value text NOT NULL)",
        // Room on each page, and an index whose column seldom changes: most updates then stay on their page
        // and touch no index (heap-only tuples).
        """
        CREATE TABLE callgate_allowance (
          id uuid PRIMARY KEY, mark bigint, used bigint, expires bigint NOT NULL
        ) WITH (fillfactor = 70)
        """,
        "CREATE INDEX callgate_allowance_expires ON callgate_allowance (expires)",
        """
        CREATE TABLE callgate_stop (
          scope text NOT NULL, id text NOT NULL, action text NOT NULL, since bigint NOT NULL,
          PRIMARY KEY (scope, id, action)
        )
        """,
      ]),
    // Callbacks. Times are nanoseconds since the epoch. The indexes for recovery contain only pending
    // records.
    Migration(
      sqlite: [
        """
        CREATE TABLE callgate_callback (
          id BLOB PRIMARY KEY NOT NULL, caller TEXT NOT NULL, subject TEXT, app TEXT, contact TEXT NOT NULL,
          created INTEGER NOT NULL, settled INTEGER, status TEXT NOT NULL, code TEXT, upstream_status INTEGER,
          platform_tid TEXT, key BLOB, place BLOB, instance INTEGER NOT NULL, abandoned INTEGER NOT NULL,
          expires INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID
        """,
        // The index includes the status, though it is always the same: SQLite then answers from the index
        // alone.
        """
        CREATE INDEX callgate_callback_pending ON callgate_callback (instance, abandoned, status)
          WHERE status = 'pending'
        """,
        "CREATE INDEX callgate_callback_expires ON callgate_callback (expires)",
        """
        CREATE TABLE callgate_callback_key (
          id BLOB PRIMARY KEY NOT NULL, callback BLOB NOT NULL, fingerprint BLOB NOT NULL, answer_status INTEGER,
          answer BLOB, expires INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID
        """,
        "CREATE INDEX callgate_callback_key_expires ON callgate_callback_key (expires)",
        """
        CREATE TABLE callgate_callback_place (
          id BLOB PRIMARY KEY NOT NULL, callback BLOB NOT NULL, expires INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID
        """,
        "CREATE INDEX callgate_callback_place_expires ON callgate_callback_place (expires)",
      ],
      postgres: [
        """
        CREATE TABLE callgate_callback (
          id uuid PRIMARY KEY, caller text NOT NULL, subject text, app text, contact text NOT NULL,
          created bigint NOT NULL, settled bigint, status text NOT NULL, code text, upstream_status integer,
          platform_tid text, key uuid, place uuid, instance bigint NOT NULL, abandoned bigint NOT NULL,
          expires bigint NOT NULL
        )
        """,
        """
        CREATE INDEX callgate_callback_pending ON callgate_callback (instance, abandoned) WHERE status = 'pending'
        """,
        "CREATE INDEX callgate_callback_expires ON callgate_callback (expires)",
        // A row without a callback was made only to be locked.
        """
        CREATE TABLE callgate_callback_key (
          id uuid PRIMARY KEY, callback uuid, fingerprint uuid, answer_status integer, answer bytea,
          expires bigint NOT NULL
        )
        """,
        "CREATE INDEX callgate_callback_key_expires ON callgate_callback_key (expires)",
        "CREATE TABLE callgate_callback_place (id uuid PRIMARY KEY, callback uuid, expires bigint NOT NULL)",
        "CREATE INDEX callgate_callback_place_expires ON callgate_callback_place (expires)",
        // The instances that are alive, by the clock of the database server.
        """
        CREATE TABLE callgate_instance (
          id bigint PRIMARY KEY, since timestamptz NOT NULL, alive_until timestamptz NOT NULL
        )
        """,
      ]),
    // The last marked transaction of each connection (`PostgresMark`). It shows whether a transaction was
    // committed whose COMMIT got no response. A file always responds, so SQLite needs no such table. The row
    // changes with every such transaction, so there is room on each page and no other index.
    Migration(
      sqlite: [],
      postgres: [
        """
        CREATE TABLE callgate_commit (
          id bigint PRIMARY KEY, number bigint NOT NULL, at timestamptz NOT NULL
        ) WITH (fillfactor = 25)
        """
      ]),
    // The end of a stop, in seconds since the epoch, and its reason. Also an index for operators' lists of
    // callbacks by status. Nearly all callbacks are accepted: those are found by their ids.
    Migration(
      sqlite: [
        "ALTER TABLE callgate_stop ADD COLUMN ends INTEGER",
        "ALTER TABLE callgate_stop ADD COLUMN reason TEXT",
        "CREATE INDEX callgate_callback_status ON callgate_callback (status, id) WHERE status <> 'accepted'",
      ],
      postgres: [
        "ALTER TABLE callgate_stop ADD COLUMN ends bigint, ADD COLUMN reason text",
        "CREATE INDEX callgate_callback_status ON callgate_callback (status, id) WHERE status <> 'accepted'",
      ]),
    // The store keys in use, by name and check value; never a key. Times are seconds since the epoch.
    Migration(
      sqlite: [
        """
        CREATE TABLE callgate_store_key (
          id BLOB PRIMARY KEY NOT NULL, check_value BLOB NOT NULL, since INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID
        """
      ],
      postgres: [
        "CREATE TABLE callgate_store_key (id bytea PRIMARY KEY, check_value bytea NOT NULL, since bigint NOT NULL)"
      ]),
    // Installations, the requests for them, and the codes of their callbacks. Times are nanoseconds since the
    // epoch. A stop of all actions now stops the new actions, too.
    Migration(
      sqlite: [
        stopNewActions,
        """
        CREATE TABLE callgate_installation (
          id BLOB PRIMARY KEY NOT NULL, client_app TEXT NOT NULL, client_detail TEXT, app TEXT NOT NULL, caller TEXT,
          subject TEXT, address TEXT NOT NULL, secret BLOB NOT NULL, generation INTEGER NOT NULL,
          created INTEGER NOT NULL, used INTEGER NOT NULL, revoked INTEGER, last_step INTEGER NOT NULL,
          counter INTEGER NOT NULL, failures INTEGER NOT NULL, locked INTEGER
        ) STRICT, WITHOUT ROWID
        """,
        """
        CREATE INDEX callgate_installation_subject ON callgate_installation (subject, caller)
          WHERE subject IS NOT NULL AND revoked IS NULL
        """,
        "CREATE INDEX callgate_installation_revoked ON callgate_installation (id) WHERE revoked IS NOT NULL",
        "CREATE INDEX callgate_installation_used ON callgate_installation (used)",
        """
        CREATE TABLE callgate_enrolment (
          id BLOB PRIMARY KEY NOT NULL, installation BLOB NOT NULL, client_app TEXT NOT NULL, client_detail TEXT,
          app TEXT NOT NULL, code TEXT NOT NULL, address TEXT NOT NULL, created INTEGER NOT NULL,
          expires INTEGER NOT NULL, forgotten INTEGER NOT NULL, answered INTEGER NOT NULL, state TEXT NOT NULL
        ) STRICT, WITHOUT ROWID
        """,
        "CREATE INDEX callgate_enrolment_code ON callgate_enrolment (code)",
        "CREATE INDEX callgate_enrolment_installation ON callgate_enrolment (installation)",
        "CREATE INDEX callgate_enrolment_state ON callgate_enrolment (state, expires)",
        "CREATE INDEX callgate_enrolment_forgotten ON callgate_enrolment (forgotten)",
        "ALTER TABLE callgate_callback ADD COLUMN verification_code BLOB",
        "ALTER TABLE callgate_callback ADD COLUMN verification_key BLOB",
        "ALTER TABLE callgate_callback ADD COLUMN verification_until INTEGER",
        """
        CREATE INDEX callgate_callback_verification ON callgate_callback (verification_until, verification_key)
          WHERE verification_key IS NOT NULL
        """,
      ],
      postgres: [
        stopNewActions,
        """
        CREATE TABLE callgate_installation (
          id uuid PRIMARY KEY, client_app text NOT NULL, client_detail text, app text NOT NULL, caller text,
          subject text, address text NOT NULL, secret bytea NOT NULL, generation bigint NOT NULL,
          created bigint NOT NULL, used bigint NOT NULL, revoked bigint, last_step bigint NOT NULL,
          counter bigint NOT NULL, failures bigint NOT NULL, locked bigint
        )
        """,
        """
        CREATE INDEX callgate_installation_subject ON callgate_installation (subject, caller)
          WHERE subject IS NOT NULL AND revoked IS NULL
        """,
        "CREATE INDEX callgate_installation_revoked ON callgate_installation (id) WHERE revoked IS NOT NULL",
        "CREATE INDEX callgate_installation_used ON callgate_installation (used)",
        """
        CREATE TABLE callgate_enrolment (
          id bytea PRIMARY KEY, installation uuid NOT NULL, client_app text NOT NULL, client_detail text,
          app text NOT NULL, code text NOT NULL, address text NOT NULL, created bigint NOT NULL,
          expires bigint NOT NULL, forgotten bigint NOT NULL, answered bigint NOT NULL, state text NOT NULL
        )
        """,
        "CREATE INDEX callgate_enrolment_code ON callgate_enrolment (code)",
        "CREATE INDEX callgate_enrolment_installation ON callgate_enrolment (installation)",
        "CREATE INDEX callgate_enrolment_state ON callgate_enrolment (state, expires)",
        "CREATE INDEX callgate_enrolment_forgotten ON callgate_enrolment (forgotten)",
        """
        ALTER TABLE callgate_callback ADD COLUMN verification_code bytea, ADD COLUMN verification_key bytea,
          ADD COLUMN verification_until bigint
        """,
        """
        CREATE INDEX callgate_callback_verification ON callgate_callback (verification_until, verification_key)
          WHERE verification_key IS NOT NULL
        """,
      ]),
    // Appointments: columns of callbacks, all NULL for an immediate callback. Times and spans are
    // nanoseconds, those of slots seconds. Each index contains appointments only.
    Migration(
      sqlite: [
        "ALTER TABLE callgate_callback ADD COLUMN at INTEGER",
        "ALTER TABLE callgate_callback ADD COLUMN slot INTEGER",
        "ALTER TABLE callgate_callback ADD COLUMN number BLOB",
        "ALTER TABLE callgate_callback ADD COLUMN due INTEGER",
        "ALTER TABLE callgate_callback ADD COLUMN tries INTEGER",
        "ALTER TABLE callgate_callback ADD COLUMN last_code TEXT",
        "ALTER TABLE callgate_callback ADD COLUMN content BLOB",
        "ALTER TABLE callgate_callback ADD COLUMN content_key BLOB",
        "ALTER TABLE callgate_callback ADD COLUMN content_until INTEGER",
        "ALTER TABLE callgate_callback ADD COLUMN key_retention INTEGER",
        "ALTER TABLE callgate_callback ADD COLUMN retention INTEGER",
        "CREATE INDEX callgate_callback_due ON callgate_callback (due) WHERE due IS NOT NULL",
        """
        CREATE INDEX callgate_callback_number ON callgate_callback (number)
          WHERE number IS NOT NULL AND settled IS NULL
        """,
        "CREATE INDEX callgate_callback_slot ON callgate_callback (slot) WHERE slot IS NOT NULL",
        """
        CREATE INDEX callgate_callback_owner ON callgate_callback (caller, coalesce(subject, caller), at, id)
          WHERE status = 'scheduled'
        """,
        """
        CREATE INDEX callgate_callback_content ON callgate_callback (content_until, content_key)
          WHERE content_key IS NOT NULL
        """,
      ],
      postgres: [
        """
        ALTER TABLE callgate_callback ADD COLUMN at bigint, ADD COLUMN slot bigint, ADD COLUMN number uuid,
          ADD COLUMN due bigint, ADD COLUMN tries integer, ADD COLUMN last_code text, ADD COLUMN content bytea,
          ADD COLUMN content_key bytea, ADD COLUMN content_until bigint, ADD COLUMN key_retention bigint,
          ADD COLUMN retention bigint
        """,
        "CREATE INDEX callgate_callback_due ON callgate_callback (due) WHERE due IS NOT NULL",
        """
        CREATE INDEX callgate_callback_number ON callgate_callback (number)
          WHERE number IS NOT NULL AND settled IS NULL
        """,
        "CREATE INDEX callgate_callback_slot ON callgate_callback (slot) WHERE slot IS NOT NULL",
        """
        CREATE INDEX callgate_callback_owner ON callgate_callback (caller, coalesce(subject, caller), at, id)
          WHERE status = 'scheduled'
        """,
        """
        CREATE INDEX callgate_callback_content ON callgate_callback (content_until, content_key)
          WHERE content_key IS NOT NULL
        """,
      ]),
    // Devices and claims. Times are nanoseconds since the epoch. The name is a digest of platform and token,
    // because a token may be too long for an index. A device is deleted with its installation.
    Migration(
      sqlite: [
        """
        CREATE TABLE callgate_device (
          installation BLOB PRIMARY KEY NOT NULL, platform TEXT NOT NULL, token TEXT NOT NULL, name BLOB NOT NULL UNIQUE,
          registered INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID
        """,
        // Fires when an installation is deleted, not when its row is replaced.
        """
        CREATE TRIGGER callgate_installation_forgotten AFTER DELETE ON callgate_installation
        BEGIN DELETE FROM callgate_device WHERE installation = old.id; END
        """,
        """
        CREATE TABLE callgate_claim (
          id BLOB PRIMARY KEY NOT NULL, installation BLOB NOT NULL, app TEXT NOT NULL, created INTEGER NOT NULL,
          expires INTEGER NOT NULL, receipts BLOB NOT NULL, state TEXT NOT NULL
        ) STRICT, WITHOUT ROWID
        """,
        "CREATE INDEX callgate_claim_live ON callgate_claim (installation, created) WHERE state = 'live'",
        "CREATE INDEX callgate_claim_expires ON callgate_claim (expires) WHERE state = 'live'",
        "CREATE INDEX callgate_claim_created ON callgate_claim (created)",
      ],
      postgres: [
        """
        CREATE TABLE callgate_device (
          installation uuid PRIMARY KEY REFERENCES callgate_installation ON DELETE CASCADE, platform text NOT NULL,
          token text NOT NULL, name bytea NOT NULL UNIQUE, registered bigint NOT NULL
        )
        """,
        """
        CREATE TABLE callgate_claim (
          id bytea PRIMARY KEY, installation uuid NOT NULL, app text NOT NULL, created bigint NOT NULL,
          expires bigint NOT NULL, receipts bytea NOT NULL, state text NOT NULL
        )
        """,
        "CREATE INDEX callgate_claim_live ON callgate_claim (installation, created) WHERE state = 'live'",
        "CREATE INDEX callgate_claim_expires ON callgate_claim (expires) WHERE state = 'live'",
        "CREATE INDEX callgate_claim_created ON callgate_claim (created)",
      ]),
    // Notifications of callbacks: columns that are NULL if no installation gets any, and a table of the
    // notifications that an instance has begun to send. Times are nanoseconds since the epoch. The indexes
    // contain only callbacks whose notification waits.
    Migration(
      sqlite: [
        "ALTER TABLE callgate_callback ADD COLUMN notifies BLOB",
        "ALTER TABLE callgate_callback ADD COLUMN confirm_at INTEGER",
        "ALTER TABLE callgate_callback ADD COLUMN notice_serial INTEGER",
        "ALTER TABLE callgate_callback ADD COLUMN notice_state TEXT",
        "ALTER TABLE callgate_callback ADD COLUMN notice_next INTEGER",
        "ALTER TABLE callgate_callback ADD COLUMN notice_tries INTEGER",
        "ALTER TABLE callgate_callback ADD COLUMN snoozes INTEGER",
        """
        CREATE INDEX callgate_callback_asks ON callgate_callback (notice_next)
          WHERE notice_next IS NOT NULL AND settled IS NULL
        """,
        """
        CREATE INDEX callgate_callback_news ON callgate_callback (notice_next)
          WHERE notice_next IS NOT NULL AND settled IS NOT NULL
        """,
        """
        CREATE TABLE callgate_notice (
          id BLOB PRIMARY KEY NOT NULL, callback BLOB NOT NULL, installation BLOB NOT NULL, action TEXT NOT NULL,
          serial INTEGER NOT NULL, created INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID
        """,
        "CREATE INDEX callgate_notice_created ON callgate_notice (created)",
        // Claims that have ended keep no receipts.
        "UPDATE callgate_claim SET receipts = x'' WHERE state <> 'live'",
        "CREATE INDEX callgate_claim_installation ON callgate_claim (installation, created)",
      ],
      postgres: [
        """
        ALTER TABLE callgate_callback ADD COLUMN notifies uuid, ADD COLUMN confirm_at bigint,
          ADD COLUMN notice_serial bigint, ADD COLUMN notice_state text, ADD COLUMN notice_next bigint,
          ADD COLUMN notice_tries bigint, ADD COLUMN snoozes bigint
        """,
        """
        CREATE INDEX callgate_callback_asks ON callgate_callback (notice_next)
          WHERE notice_next IS NOT NULL AND settled IS NULL
        """,
        """
        CREATE INDEX callgate_callback_news ON callgate_callback (notice_next)
          WHERE notice_next IS NOT NULL AND settled IS NOT NULL
        """,
        """
        CREATE TABLE callgate_notice (
          id bytea PRIMARY KEY, callback uuid NOT NULL, installation uuid NOT NULL, action text NOT NULL,
          serial bigint NOT NULL, created bigint NOT NULL
        )
        """,
        "CREATE INDEX callgate_notice_created ON callgate_notice (created)",
        "UPDATE callgate_claim SET receipts = '' WHERE state <> 'live'",
        "CREATE INDEX callgate_claim_installation ON callgate_claim (installation, created)",
      ]),
    // Tickets are saved like callbacks, without a number. The column is NULL for a callback.
    Migration(
      sqlite: ["ALTER TABLE callgate_callback ADD COLUMN ticket TEXT"],
      postgres: ["ALTER TABLE callgate_callback ADD COLUMN ticket text"]),
    // The generations of installations, and the installation that made a callback: generation 0 and no
    // installation for another caller, NULL in rows of earlier releases. Also the installation that used the
    // name of a webhook, and when last, in nanoseconds since the epoch.
    Migration(
      sqlite: [
        "ALTER TABLE callgate_installation ADD COLUMN operator_deliveries INTEGER",
        "ALTER TABLE callgate_callback ADD COLUMN notifies_generation INTEGER",
        "ALTER TABLE callgate_callback ADD COLUMN installation BLOB",
        "ALTER TABLE callgate_callback ADD COLUMN generation INTEGER",
        "ALTER TABLE callgate_claim ADD COLUMN generation INTEGER",
        "ALTER TABLE callgate_notice ADD COLUMN generation INTEGER",
        """
        CREATE TABLE callgate_hook_name (
          name BLOB PRIMARY KEY NOT NULL, holder BLOB NOT NULL, holder_generation INTEGER NOT NULL, last INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID
        """,
        "CREATE INDEX callgate_hook_name_holder ON callgate_hook_name (holder, last)",
        "CREATE INDEX callgate_hook_name_last ON callgate_hook_name (last)",
        """
        CREATE INDEX callgate_installation_over ON callgate_installation (subject, caller)
          WHERE subject IS NOT NULL AND revoked IS NOT NULL
        """,
      ],
      postgres: [
        "ALTER TABLE callgate_installation ADD COLUMN operator_deliveries bigint",
        """
        ALTER TABLE callgate_callback ADD COLUMN notifies_generation bigint, ADD COLUMN installation uuid,
          ADD COLUMN generation bigint
        """,
        "ALTER TABLE callgate_claim ADD COLUMN generation bigint",
        "ALTER TABLE callgate_notice ADD COLUMN generation bigint",
        """
        CREATE TABLE callgate_hook_name (
          name bytea PRIMARY KEY, holder uuid NOT NULL, holder_generation bigint NOT NULL, last bigint NOT NULL
        )
        """,
        "CREATE INDEX callgate_hook_name_holder ON callgate_hook_name (holder, last)",
        "CREATE INDEX callgate_hook_name_last ON callgate_hook_name (last)",
        """
        CREATE INDEX callgate_installation_over ON callgate_installation (subject, caller)
          WHERE subject IS NOT NULL AND revoked IS NOT NULL
        """,
      ]),
    // The ids of deleted installations without a user: a new installation with such an id must not own the
    // records of the earlier one.
    Migration(
      sqlite: ["CREATE TABLE callgate_spent_id (id BLOB PRIMARY KEY NOT NULL) STRICT, WITHOUT ROWID"],
      postgres: ["CREATE TABLE callgate_spent_id (id uuid PRIMARY KEY)"]),
    // Names of callbacks in another API. All three columns are NULL for callbacks that were requested with
    // this server's own API.
    Migration(
      sqlite: [
        "ALTER TABLE callgate_callback ADD COLUMN alias BLOB",
        "ALTER TABLE callgate_callback ADD COLUMN alias_number BLOB",
        "ALTER TABLE callgate_callback ADD COLUMN alias_service TEXT",
        "CREATE INDEX callgate_callback_alias ON callgate_callback (alias) WHERE alias IS NOT NULL",
        """
        CREATE INDEX callgate_callback_alias_number ON callgate_callback (alias_number, id)
          WHERE alias_number IS NOT NULL
        """,
      ],
      postgres: [
        """
        ALTER TABLE callgate_callback ADD COLUMN alias bytea, ADD COLUMN alias_number bytea,
          ADD COLUMN alias_service text
        """,
        "CREATE INDEX callgate_callback_alias ON callgate_callback (alias) WHERE alias IS NOT NULL",
        """
        CREATE INDEX callgate_callback_alias_number ON callgate_callback (alias_number, id)
          WHERE alias_number IS NOT NULL
        """,
      ]),
    // Outcomes of calls. The first two columns are NULL for callbacks of releases that saved them only if
    // outcomes were configured.
    Migration(
      sqlite: [
        "ALTER TABLE callgate_callback ADD COLUMN numbers BLOB",
        "ALTER TABLE callgate_callback ADD COLUMN handed_over INTEGER",
        "ALTER TABLE callgate_callback ADD COLUMN outcome TEXT",
        """
        CREATE INDEX callgate_callback_numbers ON callgate_callback (numbers, handed_over)
          WHERE numbers IS NOT NULL
        """,
      ],
      postgres: [
        "ALTER TABLE callgate_callback ADD COLUMN numbers uuid, ADD COLUMN handed_over bigint, ADD COLUMN outcome text",
        """
        CREATE INDEX callgate_callback_numbers ON callgate_callback (numbers, handed_over)
          WHERE numbers IS NOT NULL
        """,
      ]),
    // The devices that requests for callbacks name, sealed. All columns are NULL if the request names none,
    // and after the last notification.
    Migration(
      sqlite: [
        "ALTER TABLE callgate_callback ADD COLUMN device BLOB",
        "ALTER TABLE callgate_callback ADD COLUMN device_key BLOB",
        "ALTER TABLE callgate_callback ADD COLUMN device_until INTEGER",
        "ALTER TABLE callgate_callback ADD COLUMN device_platform TEXT",
        """
        CREATE INDEX callgate_callback_device ON callgate_callback (device_until, device_key)
          WHERE device_key IS NOT NULL
        """,
      ],
      postgres: [
        """
        ALTER TABLE callgate_callback ADD COLUMN device bytea, ADD COLUMN device_key bytea,
          ADD COLUMN device_until bigint, ADD COLUMN device_platform text
        """,
        """
        CREATE INDEX callgate_callback_device ON callgate_callback (device_until, device_key)
          WHERE device_key IS NOT NULL
        """,
      ]),
    // Keys of App Attest. Both columns are NULL for installations without one.
    Migration(
      sqlite: [
        "ALTER TABLE callgate_installation ADD COLUMN attested_key BLOB",
        "ALTER TABLE callgate_enrolment ADD COLUMN attested_key BLOB",
        """
        CREATE INDEX callgate_installation_attested_key ON callgate_installation (attested_key)
          WHERE attested_key IS NOT NULL
        """,
      ],
      postgres: [
        "ALTER TABLE callgate_installation ADD COLUMN attested_key bytea",
        "ALTER TABLE callgate_enrolment ADD COLUMN attested_key bytea",
        """
        CREATE INDEX callgate_installation_attested_key ON callgate_installation (attested_key)
          WHERE attested_key IS NOT NULL
        """,
      ]),
    // The thumbprints of phones' keys. The column is NULL for phones without one.
    Migration(
      sqlite: [
        "ALTER TABLE callgate_installation ADD COLUMN jkt BLOB",
        "ALTER TABLE callgate_enrolment ADD COLUMN jkt BLOB",
        "CREATE INDEX callgate_installation_jkt ON callgate_installation (jkt) WHERE jkt IS NOT NULL",
      ],
      postgres: [
        "ALTER TABLE callgate_installation ADD COLUMN jkt bytea",
        "ALTER TABLE callgate_enrolment ADD COLUMN jkt bytea",
        "CREATE INDEX callgate_installation_jkt ON callgate_installation (jkt) WHERE jkt IS NOT NULL",
      ]),
    // The last step, with times in nanoseconds since the epoch:
    //
    // - where callers have logged in, as keyed digests
    // - the key for hashes of phone numbers, the numbers that operators have blocked, verdicts on numbers,
    //   and numbers that users have proven
    // - the time until which a revocation may be repeated
    // - the consent to a callback
    // - the operator who paused, approved or denied: NULL in rows of releases that did not save it
    // - the conversations of AI agents, as digests: NULL for other clients
    // - an index for callbacks that may have a call, but were saved without the hash of its numbers
    //   (`CallbackStatements.lastWithoutNumbers`)
    // - indexes for what the server reads at its start and at regular times, so that these reads take no
    //   longer with more rows
    Migration(
      sqlite: [
        """
        CREATE TABLE callgate_login (
          id BLOB PRIMARY KEY NOT NULL, caller TEXT NOT NULL, credential INTEGER NOT NULL, last INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID
        """,
        """
        CREATE TABLE callgate_number_key (
          id BLOB PRIMARY KEY NOT NULL, sealed BLOB, sealing_key BLOB, sealed_until INTEGER
        ) STRICT, WITHOUT ROWID
        """,
        """
        CREATE TABLE callgate_blocked_number (
          id BLOB PRIMARY KEY NOT NULL, mask TEXT NOT NULL, reason TEXT, since INTEGER NOT NULL, ends INTEGER,
          operator TEXT, operator_by TEXT, serial INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID
        """,
        """
        CREATE TABLE callgate_screening (
          id BLOB PRIMARY KEY NOT NULL, settings INTEGER NOT NULL, refusal TEXT, ends INTEGER NOT NULL,
          serial INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID
        """,
        "ALTER TABLE callgate_installation ADD COLUMN unconfirmed INTEGER",
        """
        CREATE TABLE callgate_proven_number (
          id BLOB PRIMARY KEY NOT NULL, owner BLOB NOT NULL, proven INTEGER NOT NULL, expires INTEGER NOT NULL,
          serial INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID
        """,
        "ALTER TABLE callgate_callback ADD COLUMN consent TEXT",
        "ALTER TABLE callgate_stop ADD COLUMN operator TEXT",
        "ALTER TABLE callgate_stop ADD COLUMN operator_by TEXT",
        "ALTER TABLE callgate_enrolment ADD COLUMN operator TEXT",
        "ALTER TABLE callgate_enrolment ADD COLUMN operator_by TEXT",
        "ALTER TABLE callgate_installation ADD COLUMN operator TEXT",
        "ALTER TABLE callgate_installation ADD COLUMN operator_by TEXT",
        // The index includes `revoked`, which is always NULL: SQLite then counts from the index alone.
        "CREATE INDEX callgate_installation_live ON callgate_installation (id, revoked) WHERE revoked IS NULL",
        "ALTER TABLE callgate_callback ADD COLUMN conversation BLOB",
      ] + lookupIndexes,
      postgres: [
        """
        CREATE TABLE callgate_login (
          id uuid PRIMARY KEY, caller text NOT NULL, credential bigint NOT NULL, last bigint NOT NULL
        )
        """,
        """
        CREATE TABLE callgate_number_key (
          id uuid PRIMARY KEY, sealed bytea, sealing_key bytea, sealed_until bigint
        )
        """,
        """
        CREATE TABLE callgate_blocked_number (
          id uuid PRIMARY KEY, mask text NOT NULL, reason text, since bigint NOT NULL, ends bigint,
          operator text, operator_by text, serial bigint NOT NULL
        )
        """,
        """
        CREATE TABLE callgate_screening (
          id uuid PRIMARY KEY, settings bigint NOT NULL, refusal text, ends bigint NOT NULL, serial bigint NOT NULL
        )
        """,
        "ALTER TABLE callgate_installation ADD COLUMN unconfirmed bigint",
        """
        CREATE TABLE callgate_proven_number (
          id uuid PRIMARY KEY NOT NULL, owner uuid NOT NULL, proven bigint NOT NULL, expires bigint NOT NULL,
          serial bigint NOT NULL
        )
        """,
        "ALTER TABLE callgate_callback ADD COLUMN consent text",
        "ALTER TABLE callgate_stop ADD COLUMN operator text, ADD COLUMN operator_by text",
        "ALTER TABLE callgate_enrolment ADD COLUMN operator text, ADD COLUMN operator_by text",
        "ALTER TABLE callgate_installation ADD COLUMN operator text, ADD COLUMN operator_by text",
        "CREATE INDEX callgate_installation_live ON callgate_installation (id) WHERE revoked IS NULL",
        "ALTER TABLE callgate_callback ADD COLUMN conversation uuid",
      ] + lookupIndexes),
  ]

  /// The indexes of the last step, the same in both databases.
  private static let lookupIndexes = [
    "CREATE INDEX callgate_login_last ON callgate_login (last, id)",
    "CREATE INDEX callgate_blocked_number_serial ON callgate_blocked_number (serial)",
    "CREATE INDEX callgate_blocked_number_ends ON callgate_blocked_number (ends) WHERE ends IS NOT NULL",
    "CREATE INDEX callgate_screening_ends ON callgate_screening (ends)",
    "CREATE INDEX callgate_screening_serial ON callgate_screening (serial)",
    """
    CREATE INDEX callgate_callback_without_numbers ON callgate_callback (coalesce(settled, at, created))
      WHERE numbers IS NULL AND ticket IS NULL AND status IN ('pending', 'accepted', 'unknown')
    """,
    "CREATE INDEX callgate_proven_number_owner ON callgate_proven_number (owner, serial)",
    "CREATE INDEX callgate_proven_number_serial ON callgate_proven_number (serial)",
    "CREATE INDEX callgate_proven_number_expires ON callgate_proven_number (expires)",
    """
    CREATE INDEX callgate_callback_without_origin ON callgate_callback (due)
      WHERE due IS NOT NULL AND generation IS NULL
    """,
    """
    CREATE INDEX callgate_callback_verification_by_key ON callgate_callback (verification_key, verification_until)
      WHERE verification_key IS NOT NULL
    """,
    """
    CREATE INDEX callgate_callback_content_by_key ON callgate_callback (content_key, content_until)
      WHERE content_key IS NOT NULL
    """,
    """
    CREATE INDEX callgate_callback_device_by_key ON callgate_callback (device_key, device_until)
      WHERE device_key IS NOT NULL
    """,
    """
    CREATE INDEX callgate_callback_content_open ON callgate_callback (content_key, content_until)
      WHERE content_key IS NOT NULL AND settled IS NULL
    """,
    """
    CREATE INDEX callgate_callback_device_open ON callgate_callback (device_key, device_until)
      WHERE device_key IS NOT NULL AND settled IS NULL
    """,
  ]

  /// Extends stops of both access and callbacks: before tickets and installations, these were stops of all
  /// actions.
  private static let stopNewActions = """
    INSERT INTO callgate_stop (scope, id, action, since, ends, reason)
    SELECT a.scope, a.id, new.action, a.since, a.ends, a.reason
    FROM callgate_stop a JOIN callgate_stop b ON a.scope = b.scope AND a.id = b.id AND a.since = b.since
    CROSS JOIN (SELECT 'ticket' AS action UNION ALL SELECT 'enrol') AS new
    WHERE a.action = 'access' AND b.action = 'callback'
      AND coalesce(a.ends, -1) = coalesce(b.ends, -1) AND coalesce(a.reason, '') = coalesce(b.reason, '')
    ON CONFLICT DO NOTHING
    """

  /// A sentence for operators: why a store with another version cannot be used.
  package static func mismatch(_ version: Int) -> String {
    version > latest
      ? "version \(version) is of a newer release; this one knows \(latest)"
      : "version \(version) is older than this release's \(latest)"
  }

  /// An error with that sentence. For an older version, it also names the command that upgrades the store.
  package static func incompatible(_ version: Int) -> StoreError {
    let remedy = version > latest ? "" : ": run `callgate migrate`"
    return StoreError(.incompatible, "schema", mismatch(version) + remedy)
  }
}

/// The schema that this release knows.
public enum StoreSchema {
  /// The version of the schema. `migrate` upgrades a store with an older version. A store with a newer
  /// version is refused.
  public static var latest: Int { Migration.latest }
}
