/* Undoing a transaction that crashes interrupt: compensation records (wal/transaction_record.h, engine/recovery/).
 *
 * A transaction makes three changes, on pages 0, 1 and 0, and is rolled back, by itself or by recovery, however often
 * the process dies on the way. A change is a bit of its page. Each undo is logged as a compensation, which names by
 * undo_next the change before the one that it takes back, and is itself never undone.
 *
 * Properties, as assertions:
 *   (1) no change is made twice, or taken back twice
 *   (2) in the end all changes are taken back, on both pages
 *
 * Each flag removes one protection:
 *   NO_COMPENSATION   an undo is not logged
 *   NO_UNDO_NEXT      recovery begins again with the last change
 *   NOT_REDONE        recovery does not redo compensations
 *   NO_WRITE_AHEAD    a page may be written before the log of its changes is durable
 *
 * Not modelled: several transactions, savepoints, records that lie in the logs of several slots.
 *
 * What tools/models runs:
 * holds: -DCRASHES=3
 * fails: -DCRASHES=3 -DNO_COMPENSATION
 * fails: -DCRASHES=3 -DNO_UNDO_NEXT
 * fails: -DCRASHES=3 -DNOT_REDONE
 * fails: -DCRASHES=3 -DNO_WRITE_AHEAD
 */
#ifndef CRASHES
#define CRASHES 3
#endif

#define CHANGES 3
#define RECORDS 6          /* each change, and its compensation */
#define NOTHING 255

#define PAGE(c)  ((c) == 1 -> 1 : 0)
#define BIT(c)   (1 << (c))

/* The log: record number i has GSN i + 1. */
byte change[RECORDS];
bit is_compensation[RECORDS];
byte appended, hard;       /* the number of records, and of durable ones */

/* The pages, in memory and in the file. */
byte page[2], gsn[2], file_page[2], file_gsn[2];

#define RUNS     0
#define UNDOES   1
#define ENDED    2
byte phase, changes, crashes;
byte next = NOTHING;       /* the change that the undo takes back next */
byte i;                    /* of loops */

inline apply(c) { assert((page[PAGE(c)] & BIT(c)) == 0); page[PAGE(c)] = page[PAGE(c)] | BIT(c) }
inline take_back(c) { assert((page[PAGE(c)] & BIT(c)) != 0); page[PAGE(c)] = page[PAGE(c)] - BIT(c) }

inline append(c, compensates) {
  change[appended] = c; is_compensation[appended] = compensates; appended++; gsn[PAGE(c)] = appended
}

/* The change that is to be taken back next, from the last record of the log; NOTHING if there is none. */
inline find_next() {
  next = NOTHING;
  if
  :: appended == 0
  :: appended != 0 && !is_compensation[appended - 1] -> next = change[appended - 1]
#ifdef NO_UNDO_NEXT
  :: appended != 0 && is_compensation[appended - 1] ->
       i = 0;
       do
       :: i < appended && !is_compensation[i] -> next = change[i]; i++
       :: else -> break
       od;
       i = 0
#else
  :: appended != 0 && is_compensation[appended - 1] ->      /* undo_next */
       if
       :: change[appended - 1] != 0 -> next = change[appended - 1] - 1
       :: else
       fi
#endif
  fi
}

active proctype world() {
  do
  :: d_step { phase == RUNS && changes < CHANGES -> apply(changes); append(changes, 0); changes++ }
  :: d_step { phase == RUNS && changes > 0 -> phase = UNDOES; find_next() }
  :: d_step { phase == UNDOES && next != NOTHING ->
       take_back(next);
#ifndef NO_COMPENSATION
       append(next, 1);
#endif
       if
       :: next == 0 -> next = NOTHING
       :: else -> next--
       fi }
  :: d_step { phase == UNDOES && next == NOTHING -> phase = ENDED }

  /* A round of the log makes some records durable. */
  :: d_step { hard < appended -> hard++ }

  /* A page is written. */
#ifdef NO_WRITE_AHEAD
  :: d_step { gsn[0] != file_gsn[0] -> file_page[0] = page[0]; file_gsn[0] = gsn[0] }
  :: d_step { gsn[1] != file_gsn[1] -> file_page[1] = page[1]; file_gsn[1] = gsn[1] }
#else
  :: d_step { gsn[0] <= hard && file_page[0] != page[0] -> file_page[0] = page[0]; file_gsn[0] = gsn[0] }
  :: d_step { gsn[1] <= hard && file_page[1] != page[1] -> file_page[1] = page[1]; file_gsn[1] = gsn[1] }
#endif

  /* The process dies; recovery reads the pages, redoes the durable log, and goes on with the undo. */
  :: d_step { crashes < CRASHES ->
       crashes++; appended = hard;
       page[0] = file_page[0]; page[1] = file_page[1]; gsn[0] = file_gsn[0]; gsn[1] = file_gsn[1];
       i = 0;
       do
       :: i < RECORDS ->
            if
            :: i >= hard -> change[i] = 0; is_compensation[i] = 0
            :: i < hard && i + 1 > gsn[PAGE(change[i])] ->
                 if
                 :: !is_compensation[i] -> apply(change[i])
#ifdef NOT_REDONE
                 :: is_compensation[i]
#else
                 :: is_compensation[i] -> take_back(change[i])
#endif
                 fi;
                 gsn[PAGE(change[i])] = i + 1
            :: else
            fi;
            i++
       :: else -> break
       od;
       i = 0; changes = CHANGES; phase = UNDOES; find_next() }

  :: d_step { phase == ENDED -> assert(page[0] == 0 && page[1] == 0) } ->
     if
     :: crashes == CRASHES -> break
     :: crashes < CRASHES       /* it may still die */
     fi
  od
}
