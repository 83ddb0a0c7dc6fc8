# Parley's completion for fish. Put its command into ~/.config/fish/config.fish (parley completion fish | source)
function __parley_complete
  set -l words (commandline -opc) (commandline -ct)
  set -l program (string replace -r '^~' $HOME -- $words[1])
  set -l lines ($program complete -- $words[2..-1] 2>/dev/null)
  switch $lines[1]
    case files
      __fish_complete_path (commandline -ct)
    case folders
      __fish_complete_directories (commandline -ct)
    case '*'
      printf '%s\n' $lines[2..-1]
  end
end
complete -c parley -f -a '(__parley_complete)'
