# Completion of the palimpsest command in bash: its subcommands, their options, and words that options take.

_palimpsest() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]}
  local records="--format --delimiter --quote --escape --null --bytes"
  local words=""
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    mapfile -t COMPREPLY < <(compgen -W "backup check compact dump load log salvage stat tables --help --version" -- "$word")
    return
  fi
  case $before in
    --format) words="csv tsv tbl jsonl" ;;
    --bytes) words="hex raw" ;;
    --on-duplicate) words="error skip replace" ;;
    --progress) words="auto bar lines json none" ;;
    --summary) words="text json" ;;
  esac
  if [[ -z $words && $word == -* ]]; then
    case $command in
      load)
        words="$records --schema --schema-file --infer --primary-key --comment --skip-blank --header
          --header=match --columns --max-errors --reject-file --reject-log --on-duplicate --dry-run
          --resume --no-space-check --threads --memory --quiet --progress --summary --log-directory --help"
        ;;
      dump) words="$records --output --header=off --header --columns --schema --log-directory --help" ;;
      backup) words="--rate-mib --no-open --log-directory --help" ;;
      compact) words="--log-directory --help" ;;
      salvage) words="--json --memory-mib --doubtful --lost-trees --no-log --log-directory --help" ;;
      check | stat | tables) words="--json --memory-mib --log-directory --help" ;;
      log) words="--json --records --page-bytes --log-directory --help" ;;
    esac
  fi
  if [[ -n $words ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$word")
  fi
}

complete -o filenames -F _palimpsest palimpsest
