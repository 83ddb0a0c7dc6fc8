/**
 * A key for the id of a message within its scope. The length comes first, because scope and id are chosen by clients and may both
 * contain any separator: `John` with `Smith 1` would otherwise be taken for `John Smith` with `1`, and one of their messages lost.
 */
export const idKey = (scope: string, id: string): string => `${scope.length} ${scope}${id}`;
