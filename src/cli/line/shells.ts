/** The shells that complete command lines. */
export const SHELLS = ["bash", "zsh", "fish"] as const;
