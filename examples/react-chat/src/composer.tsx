import type { UsedMessages } from "parley-client/react";
import { type FormEvent, useRef, useState } from "react";
import { Typing, useTyping } from "./typing.tsx";
import type { Text } from "./wire.ts";

interface Waiting {
  readonly key: number;
  readonly text: string;
  /** Why it was not accepted. */
  readonly error?: string;
}

interface Props {
  readonly room: string;
  readonly publish: UsedMessages<Text, unknown>["publish"];
}

export function Composer({ room, publish }: Props) {
  const [text, setText] = useState("");
  const [waiting, setWaiting] = useState<readonly Waiting[]>([]);
  const lastKey = useRef(0);
  const typing = useTyping(room);

  const send = async (said: string) => {
    const key = ++lastKey.current;
    const others = (all: readonly Waiting[]) => all.filter((one) => one.key !== key);
    setWaiting((all) => [...all, { key, text: said }]);
    try {
      // Resolves when the service has accepted it, after a reconnect if need be.
      await publish({ text: said });
      setWaiting(others);
    } catch (error) {
      setWaiting((all) => [...others(all), { key, text: said, error: (error as Error).message }]);
    }
  };

  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (text.trim() === "") return;
    setText("");
    typing(false);
    void send(text.trim());
  };

  const resend = ({ key, text: said }: Waiting) => {
    setWaiting((all) => all.filter((one) => one.key !== key));
    void send(said);
  };

  return (
    <footer>
      {waiting.length > 0 && (
        <ul className="waiting">
          {waiting.map((one) => (
            <li key={one.key}>
              <span className="text">{one.text}</span>{" "}
              {one.error ? (
                <span role="alert">
                  Not sent: {one.error}{" "}
                  <button type="button" className="plain" onClick={() => resend(one)}>
                    Send again
                  </button>
                </span>
              ) : (
                <span className="quiet">sending…</span>
              )}
            </li>
          ))}
        </ul>
      )}
      <Typing room={room} />
      <form className="line" onSubmit={submit}>
        <input
          aria-label="Message"
          placeholder="Message"
          autoComplete="off"
          maxLength={2000}
          value={text}
          onChange={({ target }) => {
            setText(target.value);
            typing(target.value !== "");
          }}
        />
        <button type="submit">Send</button>
      </form>
    </footer>
  );
}
