/**
 * Clients come back after a random part of a time that grows to 20 s. Here chance always gives the beginning of it, so that a
 * thousand reconnects take seconds; everything else of the client is as its users have it. Returns a function that undoes it.
 */
export function hurry(part = 0.001): () => void {
  const { random } = Math;
  Math.random = () => random() * part;
  return () => {
    Math.random = random;
  };
}
