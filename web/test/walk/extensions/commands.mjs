// An extension of commands, which need no container engine.

export const HOSTILE = "<img src=x onerror=document.title=1>";

export const commandsText = (id, type, folder, more = "") => `metadata:
  id: ${id}
  name: "${id} ${HOSTILE}"
  description: Writes a note into a folder.
  author: Ada
  icon: 🗒
  category: Utility
  type: ${type}
  version: 1.0.0
variables:
  note: { type: string, default: hello, description: What is written, validation_pattern: "[a-z ]+" }
  seconds: { type: integer, default: 0, description: How long it takes }
  fails: { type: boolean, default: false, description: Whether the last step fails }
  words: { type: array, description: Further words }
  token: { type: secret, description: Never shown }
${more}execution:
  run:
    - name: Write the note
      type: file
      properties: { action: write, dest: ${folder}/${id}.txt, content: "{{ note }}", mode: "0644" }
    - name: Read it
      type: command
      properties: { cmd: "cat ${folder}/${id}.txt; echo; echo {{ words }} {{ token }}; sleep {{ seconds }}", revert_cmd: "echo nothing" }
    - name: Fail
      type: command
      condition: fails
      properties: { cmd: "echo '${HOSTILE}' >&2; exit 3" }
  validate:
    - name: See that it is there
      type: command
      properties: { cmd: "test -s ${folder}/${id}.txt" }
`;

/** Where it becomes another one, the page says why. */
export async function stateBecomes(page, state) {
  const badge = page.locator("h1 + [role=status]").getByText(state, { exact: true });
  await badge.waitFor({ timeout: 15_000 }).catch(async () => {
    throw new Error(`not ${state}: ${await page.locator("main").textContent()}`);
  });
}

/** Agrees to the plan of what was filled in. An earlier plan must be gone: the next one would have to be read anew. */
export async function agree(page) {
  await page.locator("section[aria-busy=false]").waitFor();
  await page.getByLabel("I have read").check();
}
