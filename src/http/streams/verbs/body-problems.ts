/** Why the body of a write holds no messages, for clients. */
import { Problem } from "../../../protocol/codes.ts";
import { MESSAGE_MAX_BYTES } from "../../../protocol/limits.ts";
import { BODY_MAX_VALUES, type BodyProblem } from "../../../protocol/streams/data.ts";

export function bodyProblem(problem: BodyProblem): Problem {
  switch (problem) {
    case "not JSON":
      return new Problem("invalid_request", "The body is not valid JSON.");
    case "not UTF-8":
      return new Problem("invalid_request", "The body is not valid UTF-8.");
    case "empty":
      return new Problem("invalid_request", "The body is an empty array: there is nothing to append.");
    case "too many values":
      return new Problem("body_too_large", `The body has over ${BODY_MAX_VALUES} values.`);
    case "value too long":
      return new Problem("body_too_large", `A value of the body has over ${MESSAGE_MAX_BYTES} bytes.`);
  }
}
