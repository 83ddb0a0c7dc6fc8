# Parley's completion for bash. In ~/.bashrc: source <(parley completion bash)
_parley() {
  local program=${COMP_WORDS[0]/#\~/$HOME} current=${COMP_WORDS[COMP_CWORD]} adds='' line
  COMPREPLY=()
  while IFS= read -r line; do
    if [ -z "$adds" ]; then adds=$line; else COMPREPLY+=("${line%%$'\t'*}"); fi
  done < <("$program" complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  [ "$current" != = ] || current=''
  case $adds in
    files) local flag=-f ;;
    folders) local flag=-d ;;
    *) return ;;
  esac
  compopt -o filenames 2>/dev/null
  while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen "$flag" -- "$current")
}
complete -F _parley parley
