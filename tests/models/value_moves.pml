/* Moving a large value during compaction: btree/value_moves.h, decision 052.
 *
 * One record names one value of two blocks. The file has three extents of two blocks. A mover copies the value and
 * exchanges the descriptor; a writer replaces or removes the value, and commits or rolls back; two readers read block
 * by block without a latch, one with a snapshot, one without; another writer of values takes any free extent and gives
 * it back; the log becomes durable round by round; the leaf is flushed; the power fails at any step.
 *
 * Each option of the loop is one atomic step: what happens under one latch, or one access to memory or the file.
 * Blocks are written in two steps, so that a reader, or a crash, may find half of one.
 *
 * Properties, as assertions:
 *   (1) a reader returns the bytes of the value that it is to see, and of no other
 *   (2) two lookups that find the same descriptor find its blocks: a reader never reports damage
 *   (3) no extent is taken while in use, given back twice, or lost
 *   (4) after a crash the descriptor names a whole extent that is in use, with the committed value
 *
 * Each flag removes one protection:
 *   FREED_AT_ONCE    the old extent may be taken again before the record of the exchange is durable
 *   NO_RECHECK       the descriptor is exchanged without a look at the record
 *   ENTRY_IGNORED    the look compares the descriptor, and ignores the writer that has claimed the record
 *   LOG_AFTER_SWAP   the descriptor is exchanged first, and logged in a later step
 *   NO_NEED_PAGES    the record of the exchange may be durable before the copied blocks
 *   NO_STAMPS        a reader does not compare the stamps of blocks
 *   NO_HORIZON       the replaced value is freed although an older snapshot is open
 *
 * Not modelled: bulks, purges and backups beside the mover; truncation of the log; values of more than two blocks.
 *
 * What tools/models runs:
 * holds: -DCRASHES=0
 * holds: -DREADERS=0 -DCRASHES=1
 * fails: -DREADERS=0 -DCRASHES=1 -DFREED_AT_ONCE
 * fails: -DREADERS=0 -DCRASHES=1 -DNO_RECHECK
 * fails: -DREADERS=0 -DCRASHES=1 -DENTRY_IGNORED
 * fails: -DREADERS=0 -DCRASHES=1 -DLOG_AFTER_SWAP
 * fails: -DREADERS=0 -DCRASHES=1 -DNO_NEED_PAGES
 * fails: -DNO_STAMPS
 * fails: -DNO_HORIZON
 */
#ifndef CRASHES
#define CRASHES 0    /* power failures */
#endif
#ifndef READERS
#define READERS 1    /* 0: none; what they read is looked at without crashes, which end them */
#endif
#ifndef MOVES
#define MOVES 1      /* exchanges that the mover attempts */
#endif
#ifndef OTHERS
#define OTHERS 1     /* extents that the other writer of values takes, one after the other */
#endif

#define EXTENTS 3
#define NONE    3    /* no extent: the record is removed */
#define RECORDS 8    /* of the log */
#define NO_RECORD 255
#define TORN    8    /* a block that was half written */
#define FOREIGN 9    /* the stamp of the other writer's values */

/* Kinds of log records: */
#define MOVE    1
#define CHANGE  2    /* by the writer; `to` is NONE if it removes the value */
#define UNDO    3
#define COMMIT  4
#define FREE    5

/* The file: the stamp of each block, as a read returns it and as a power failure leaves it. */
byte cached[6];
byte durable[6];

/* Space: what must not be taken, and what the log says; a freed extent waits for a record (its number). */
bit claimed[EXTENTS];
bit logged[EXTENTS];
byte waits_for[EXTENTS];

/* The log. A record takes `to` into use (not UNDO), with this stamp, and gives `from` back (not CHANGE). */
byte kind[RECORDS], to[RECORDS], to_stamp[RECORDS], from[RECORDS], from_stamp[RECORDS];
byte appended, hard;            /* the number of records, and of durable ones */
bit need_pages;
byte round, captured; bit captured_need;

/* The leaf: the descriptor and the GSN, in memory and in the file. */
byte extent, stamp, gsn;
byte file_extent, file_stamp, file_gsn;

/* The record's entry: its writer, and the version before the writer's change. */
bit is_claimed, has_version;
byte old_extent, old_stamp;
bit has_committed;
byte commit_gsn;
byte release = NONE;            /* replaced by a commit, to be freed by the horizon */

byte content[7];                /* of values by their stamp: 1 the first value, 2 the writer's, 0 none */
byte stamps = 1;
byte committed = 1;             /* the content that is committed */

byte crashes, moves, changes, uses;

#ifdef NO_HORIZON
#define HORIZON_PASSED true
#else
#define HORIZON_PASSED !(reader[SNAPSHOT] != 0 && reader[SNAPSHOT] != 3 && is_older[SNAPSHOT])
#endif

/* Actors: where each stands. */
byte mover, move_extent, move_stamp, copy_extent, copy_stamp, block;
byte writer, new_extent, new_stamp, new_block;
byte other, other_extent, other_block;
#define SNAPSHOT 0
#define NEWEST   1
byte reader[2], read_extent[2], read_stamp[2], last_extent[2], last_stamp[2], wanted[2], read_block[2];
bit is_older[2];                /* the snapshot was taken before the writer committed */

byte i;                         /* of loops; 0 between steps */

inline append(a_kind, a_to, a_stamp, a_from, a_from_stamp) {
  kind[appended] = a_kind; to[appended] = a_to; to_stamp[appended] = a_stamp;
  from[appended] = a_from; from_stamp[appended] = a_from_stamp;
  appended++;
  if
  :: (a_kind == MOVE || a_kind == CHANGE) && a_to != NONE -> assert(claimed[a_to] && !logged[a_to]); logged[a_to] = 1
  :: else
  fi;
  if
  :: a_kind != CHANGE && a_kind != COMMIT && a_from != NONE ->
       assert(claimed[a_from] && logged[a_from] && waits_for[a_from] == 0);
       logged[a_from] = 0; waits_for[a_from] = appended
  :: else
  fi
}

inline put_back(e) { assert(claimed[e] && !logged[e] && waits_for[e] == 0); claimed[e] = 0 }

/* Any free extent; NONE if there is none. */
inline take_free(e) {
  e = NONE;
  if
  :: !claimed[0] -> e = 0
  :: !claimed[1] -> e = 1
  :: !claimed[2] -> e = 2
  :: claimed[0] && claimed[1] && claimed[2]
  fi;
  if
  :: e != NONE -> claimed[e] = 1
  :: else
  fi
}

/* The two steps of writing a block; `b` moves on after the second. */
inline write_step(e, b, with) {
  if
  :: cached[2 * e + b] != TORN -> cached[2 * e + b] = TORN
  :: else -> cached[2 * e + b] = with; b++
  fi
}

inline harden() {
  i = 0;
  do
  :: i < 6 -> durable[i] = cached[i]; i++
  :: else -> break
  od;
  i = 0
}

inline look_up(r) {
  if
  :: has_version && (is_claimed || (r == SNAPSHOT && is_older[r])) ->
       read_extent[r] = old_extent; read_stamp[r] = old_stamp
  :: else -> read_extent[r] = extent; read_stamp[r] = stamp
  fi;
  if
  :: r == NEWEST -> wanted[r] = committed
  :: else
  fi
}

/* After a look-up. (2): a descriptor that is found again was there all the time, so its blocks should have been. */
inline found(r) {
  if
  :: read_extent[r] == NONE -> assert(wanted[r] == 0); end_reader(r)
  :: else ->
       assert(read_extent[r] != last_extent[r] || read_stamp[r] != last_stamp[r]);
       read_block[r] = 0; reader[r] = 2
  fi
}

/* (1): after the last block. */
inline read_one(r) {
  if
#ifdef NO_STAMPS
  :: true ->
#else
  :: cached[2 * read_extent[r] + read_block[r]] == read_stamp[r] ->
#endif
       assert(cached[2 * read_extent[r] + read_block[r]] < TORN &&
              content[cached[2 * read_extent[r] + read_block[r]]] == wanted[r]);
       read_block[r]++;
       if
       :: read_block[r] == 2 -> end_reader(r)
       :: else
       fi
#ifndef NO_STAMPS
  :: else -> last_extent[r] = read_extent[r]; last_stamp[r] = read_stamp[r]; reader[r] = 1
#endif
  fi
}

inline end_reader(r) {
  reader[r] = 3; read_extent[r] = 0; read_stamp[r] = 0; last_extent[r] = 0; last_stamp[r] = 0;
  wanted[r] = 0; read_block[r] = 0; is_older[r] = 0
}

/* What a block holds after a power failure: the old bytes, the new ones, or half of each. */
inline lose_power() {
  i = 0;
  do
  :: i < 6 ->
       if
       :: cached[i] == durable[i]
       :: cached[i] != durable[i] -> cached[i] = durable[i]
       :: cached[i] != durable[i] -> durable[i] = cached[i]
       :: cached[i] != durable[i] -> cached[i] = TORN; durable[i] = TORN
       fi;
       i++
  :: else -> break
  od;
  i = 0
}

inline forget_actors() {
  mover = 0; move_extent = 0; move_stamp = 0; copy_extent = 0; copy_stamp = 0; block = 0;
  writer = 0; new_extent = 0; new_stamp = 0; new_block = 0;
  other = 0; other_extent = 0; other_block = 0;
  end_reader(SNAPSHOT); end_reader(NEWEST); reader[SNAPSHOT] = 0; reader[NEWEST] = 0;
  is_claimed = 0; has_version = 0; old_extent = 0; old_stamp = 0; has_committed = 0; commit_gsn = 0; release = NONE;
  need_pages = 0; round = 0; captured = 0; captured_need = 0
}

/* Redo of the durable log, undo of a loser, and the frees that a winner still owes. */
inline recover() {
  appended = hard;
  i = appended;
  do
  :: i < RECORDS -> kind[i] = 0; to[i] = 0; to_stamp[i] = 0; from[i] = 0; from_stamp[i] = 0; i++
  :: else -> break
  od;
  extent = file_extent; stamp = file_stamp; gsn = file_gsn; committed = 1;
  logged[0] = 0; logged[1] = 0; logged[2] = 1;
  waits_for[0] = 0; waits_for[1] = 0; waits_for[2] = 0;
  loser = NO_RECORD; release = NONE;
  i = 0;
  do
  :: i < hard ->
       if
       :: kind[i] != COMMIT && kind[i] != FREE && i + 1 > gsn -> extent = to[i]; stamp = to_stamp[i]; gsn = i + 1
       :: else
       fi;
       if
       :: (kind[i] == MOVE || kind[i] == CHANGE) && to[i] != NONE -> assert(!logged[to[i]]); logged[to[i]] = 1
       :: else
       fi;
       if
       :: (kind[i] == MOVE || kind[i] == UNDO || kind[i] == FREE) && from[i] != NONE ->
            assert(logged[from[i]]); logged[from[i]] = 0
       :: else
       fi;
       if
       :: kind[i] == CHANGE -> loser = i
       :: kind[i] == UNDO -> loser = NO_RECORD
       :: kind[i] == COMMIT -> release = from[loser]; committed = content[to_stamp[loser]]; loser = NO_RECORD
       :: kind[i] == FREE -> release = NONE
       :: else
       fi;
       i++
  :: else -> break
  od;
  i = 0;
  claimed[0] = logged[0]; claimed[1] = logged[1]; claimed[2] = logged[2];
  if
  :: loser != NO_RECORD ->
       extent = from[loser]; stamp = from_stamp[loser];
       append(UNDO, from[loser], from_stamp[loser], to[loser], to_stamp[loser]); gsn = appended
  :: else
  fi;
  if
  :: release != NONE -> append(FREE, 0, 0, release, 0); release = NONE
  :: else
  fi;
  loser = 0
}

/* (3), (4): right after recovery the extents in use are the one that the record names. */
inline check_recovered() {
  if
  :: extent == NONE -> assert(committed == 0)
  :: else ->
       assert(logged[extent] && cached[2 * extent] == stamp && cached[2 * extent + 1] == stamp);
       assert(content[stamp] == committed)
  fi;
  check_space()
}
inline check_space() {
  i = 0;
  do
  :: i < EXTENTS -> assert(logged[i] == (i == extent)); i++
  :: else -> break
  od;
  i = 0
}

active proctype world() {
  byte loser = 0;
  d_step {
    cached[4] = 1; cached[5] = 1; durable[4] = 1; durable[5] = 1;
    claimed[2] = 1; logged[2] = 1;
    extent = 2; stamp = 1; file_extent = 2; file_stamp = 1; content[1] = 1
  };
  do
  /* The mover: looks, takes an extent, copies block by block, exchanges. */
  :: atomic { mover == 0 && moves < MOVES && extent != NONE ->
       move_extent = extent; move_stamp = stamp; moves++; take_free(copy_extent);
       if
       :: copy_extent == NONE -> copy_extent = 0; move_extent = 0; move_stamp = 0
       :: else -> stamps++; copy_stamp = stamps; content[copy_stamp] = content[move_stamp]; block = 0; mover = 1
       fi }
  :: d_step { mover == 1 && block < 2 ->
       if
       :: cached[2 * move_extent + block] == move_stamp -> write_step(copy_extent, block, copy_stamp)
       :: else -> put_back(copy_extent); mover = 9        /* replaced meanwhile */
       fi }
  :: d_step { mover == 1 && block == 2 ->
#ifndef NO_NEED_PAGES
       need_pages = 1;
#endif
       mover = 2 }
  :: d_step { mover == 2 ->
       if
#ifdef NO_RECHECK
       :: extent != NONE ->
#else
#ifdef ENTRY_IGNORED
       :: extent == move_extent && stamp == move_stamp ->
#else
       :: extent == move_extent && stamp == move_stamp && !is_claimed && !has_version ->
#endif
#endif
            extent = copy_extent; stamp = copy_stamp;
#ifdef LOG_AFTER_SWAP
            mover = 3
#else
            append(MOVE, copy_extent, copy_stamp, move_extent, move_stamp); gsn = appended;
#ifdef FREED_AT_ONCE
            waits_for[move_extent] = 0; claimed[move_extent] = 0;
#endif
            mover = 9
#endif
       :: else -> put_back(copy_extent); mover = 9
       fi }
#ifdef LOG_AFTER_SWAP
  :: d_step { mover == 3 ->
       append(MOVE, copy_extent, copy_stamp, move_extent, move_stamp); gsn = appended; mover = 9 }
#endif
  :: d_step { mover == 9 ->
       mover = 0; move_extent = 0; move_stamp = 0; copy_extent = 0; copy_stamp = 0; block = 0 }

  /* The writer: writes a value, or none; changes the record; commits or rolls back. */
  :: atomic { writer == 0 && changes == 0 && extent != NONE ->
       changes = 1;
       if
       :: new_extent = NONE; writer = 2                   /* removes the value */
       :: take_free(new_extent);
            if
            :: new_extent == NONE -> new_extent = 0       /* the file is full: no change */
            :: else -> stamps++; new_stamp = stamps; content[new_stamp] = 2; writer = 1
            fi
       fi }
  :: d_step { writer == 1 && new_block < 2 -> write_step(new_extent, new_block, new_stamp) }
  :: d_step { writer == 1 && new_block == 2 -> need_pages = 1; writer = 2 }
#ifdef LOG_AFTER_SWAP
  :: d_step { writer == 2 && mover != 3 ->
#else
  :: d_step { writer == 2 ->
#endif
       append(CHANGE, new_extent, new_stamp, extent, stamp);
       old_extent = extent; old_stamp = stamp; is_claimed = 1; has_version = 1;
       extent = new_extent; stamp = new_stamp; gsn = appended; writer = 3 }
  :: d_step { writer == 3 ->
       append(COMMIT, 0, 0, 0, 0); is_claimed = 0; has_committed = 1; commit_gsn = appended;
       committed = content[new_stamp]; release = old_extent; writer = 4 }
  :: d_step { writer == 3 ->
       append(UNDO, old_extent, old_stamp, new_extent, new_stamp);
       extent = old_extent; stamp = old_stamp; gsn = appended; is_claimed = 0; has_version = 0;
       old_extent = 0; old_stamp = 0; new_extent = 0; new_stamp = 0; new_block = 0; writer = 5 }
  /* The horizon has passed the commit, and the commit is durable. */
  :: d_step { writer == 4 && hard >= commit_gsn && HORIZON_PASSED ->
       has_version = 0; append(FREE, 0, 0, release, 0);
       release = NONE; old_extent = 0; old_stamp = 0; new_extent = 0; new_stamp = 0; new_block = 0; writer = 5 }

  /* Another writer of values, which gives up before a record names its value. */
  :: atomic { other == 0 && uses < OTHERS && !(claimed[0] && claimed[1] && claimed[2]) ->
       take_free(other_extent); other_block = 0; uses++; other = 1 }
  :: d_step { other == 1 && other_block < 2 -> write_step(other_extent, other_block, FOREIGN) }
  :: d_step { other == 1 && other_block == 2 -> put_back(other_extent); other_extent = 0; other_block = 0; other = 0 }

  /* Readers: one with a snapshot, one of the newest committed state. No latch is held between the steps. */
  :: d_step { READERS && reader[SNAPSHOT] == 0 -> wanted[SNAPSHOT] = committed; is_older[SNAPSHOT] = !has_committed;
       last_extent[SNAPSHOT] = NONE; reader[SNAPSHOT] = 1 }
  :: d_step { READERS && reader[NEWEST] == 0 -> last_extent[NEWEST] = NONE; reader[NEWEST] = 1 }
  :: d_step { reader[SNAPSHOT] == 1 -> look_up(SNAPSHOT); found(SNAPSHOT) }
  :: d_step { reader[NEWEST] == 1 -> look_up(NEWEST); found(NEWEST) }
  :: d_step { reader[SNAPSHOT] == 2 -> read_one(SNAPSHOT) }
  :: d_step { reader[NEWEST] == 2 -> read_one(NEWEST) }

  /* A round of the log: captures what is appended, makes needed pages durable, then the records. */
  :: d_step { round == 0 && (appended > hard) -> captured = appended; captured_need = need_pages; need_pages = 0; round = 1 }
  :: d_step { round == 1 ->
       if
       :: captured_need -> harden()
       :: else
       fi;
       round = 2 }
  :: d_step { round == 2 -> hard = captured; round = 0; captured = 0; captured_need = 0 }

  /* Freed extents may be taken again once their records are durable. */
  :: d_step { waits_for[0] != 0 && waits_for[0] <= hard -> waits_for[0] = 0; put_back(0) }
  :: d_step { waits_for[1] != 0 && waits_for[1] <= hard -> waits_for[1] = 0; put_back(1) }
  :: d_step { waits_for[2] != 0 && waits_for[2] <= hard -> waits_for[2] = 0; put_back(2) }

  /* The leaf is written, after its log. */
  :: d_step { gsn <= hard && (gsn != file_gsn || extent != file_extent || stamp != file_stamp) ->
       file_extent = extent; file_stamp = stamp; file_gsn = gsn }

  /* The power fails. Of a round under way, any part of the records may be durable. */
  :: atomic { crashes < CRASHES ->
       crashes++;
       if
       :: round == 2 && captured > hard ->
            do
            :: hard < captured -> hard++
            :: break
            od
       :: else
       fi;
       lose_power(); forget_actors(); recover(); check_recovered() }

  /* All has ended, and all frees are durable. */
  :: d_step { mover == 0 && other == 0 && (writer == 0 || writer == 5) && round == 0 && appended == hard &&
       waits_for[0] == 0 && waits_for[1] == 0 && waits_for[2] == 0 && (moves == MOVES || extent == NONE) ->
       assert(claimed[0] == logged[0] && claimed[1] == logged[1] && claimed[2] == logged[2]); check_space() } ->
     break
  od
}
