#compdef parley
# Parley's completion for zsh. In ~/.zshrc, after compinit: source <(parley completion zsh)
_parley() {
  local -a lines entries
  local line tab=$'\t'
  lines=("${(@f)$("${words[1]/#\~/$HOME}" complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  case $lines[1] in
    files) _files; return ;;
    folders) _files -/; return ;;
  esac
  for line in "${(@)lines[2,-1]}"; do
    entries+=("${${line%%$tab*}//:/\\:}:${line#*$tab}")
  done
  _describe parley entries
}
if [ "$funcstack[1]" = _parley ]; then _parley; else compdef _parley parley; fi
