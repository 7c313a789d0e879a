import type { ChannelTest } from "../../api/notifications";
import { useText } from "../../text";
import { Evidence } from "../../ui/Evidence";
import { ProblemText } from "../../ui/Problem";

interface Props {
  /** Of the channel. */
  name: string;
  test: { data: ChannelTest | undefined; error: Error | null; isPending: boolean };
  /** Where it went, if the result does not tell by itself. */
  delivered: string;
}

/** What came of a test, in the words of whom it was sent to. */
export function TestResult({ name, test, delivered }: Props) {
  const t = useText().notifications;
  const result = test.isPending ? undefined : test.data;
  return (
    <div role="status" class={`test-result${result ? ` notice ${result.is_delivered ? "good" : "bad"}` : ""}`}>
      {result && (
        <>
          <p>
            <strong>{result.is_delivered ? delivered : t.testFailed}</strong>{" "}
            {result.problem || (result.status && t.answered(result.status))}
          </p>
          {result.answer && !result.is_delivered && <Evidence label={`${t.answer}: ${name}`} text={result.answer} />}
        </>
      )}
      {!test.isPending && <ProblemText error={test.error} />}
    </div>
  );
}
