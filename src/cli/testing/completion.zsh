# For tests: what parley's completion gives zsh, without its line editor.
compdef() { print "compdef $@" }
_describe() { print -l -- "${(@P)2}" }
eval "$(parley completion zsh)"
words=(parley keys r); CURRENT=3; _parley
words=(parley keys create --type=s); CURRENT=4; _parley
