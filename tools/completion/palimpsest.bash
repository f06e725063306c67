# Completion of the palimpsest command in bash: its subcommands, their options, and words that options take.

_palimpsest() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]}
  local records="--format --delimiter --quote --escape --null --bytes"
  local messages="--log-level --log-file"
  local words=""
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    mapfile -t COMPREPLY < <(compgen -W "backup check compact dump help load log salvage stat tables --help --version" -- "$word")
    return
  fi
  case $before in
    --format) words="csv tsv tbl jsonl json" ;;
    --compress) words="none gzip zstd" ;;
    --line-end) words="lf cr" ;;
    --sample) words="all 2M 64M" ;;
    --quote) words="none" ;;
    --bytes) words="hex raw" ;;
    --on-duplicate) words="error skip replace" ;;
    --progress) words="auto bar lines json none" ;;
    --summary) words="text json" ;;
    --log-level) words="debug info warning error off" ;;
  esac
  if [[ -z $words && $word == -* ]]; then
    case $command in
      load)
        words="$records --schema --schema-file --infer --primary-key --row-id --sample --preview --directory
          --skip --encoding --trim --fill-missing --trailing-delimiter --line-end --decimal-comma --thousands
          --date-format --timestamp-format --keep-nested --ignore-unknown --comment --skip-blank --header
          --header=match --header=off --columns --max-errors --reject-file --reject-log --on-duplicate
          --dry-run --resume --no-space-check --threads --memory --quiet --progress --summary --json
          --log-directory $messages --help"
        ;;
      dump) words="$records --output --directory --resume --threads --compress --memory --where-key --header=off
          --header --columns --schema --json --log-directory $messages --help" ;;
      backup) words="--rate-mib --no-open --log-directory $messages --help" ;;
      compact) words="--log-directory $messages --help" ;;
      salvage) words="--json --memory-mib --doubtful --lost-trees --no-log --log-directory $messages --help" ;;
      check | stat | tables) words="--json --memory-mib --log-directory $messages --help" ;;
      log) words="--json --records --page-bytes --log-directory $messages --help" ;;
    esac
  fi
  if [[ -n $words ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$word")
  fi
}

complete -o filenames -F _palimpsest palimpsest
