// Tools that need something from the client in the middle of the call. Legacy era: a request to the client on the same
// stream. Modern era: an `input_required` result, and the call comes again with the answers.

import { RpcError } from '../lib/protocol.mjs';
import { effect, schema, text, until } from './effects.mjs';

const elicitation = {
  message: 'Go on?',
  requestedSchema: { type: 'object', properties: { go: { type: 'boolean' } }, required: ['go'] },
};
const sampling = { messages: [{ role: 'user', content: { type: 'text', text: 'Say yes' } }], maxTokens: 10 };

/** The client's answer, or in the modern era the result that asks for it. */
async function ask(call, method, params) {
  if (!call.modern) return { reply: await call.request(method, params) };
  const { inputResponses, requestState } = call.params;
  if (inputResponses?.input === undefined) {
    const state = Buffer.from(JSON.stringify({ tool: call.params.name })).toString('base64url');
    const mode = method === 'elicitation/create' ? { mode: 'form' } : {};
    const inputRequests = { input: { method, params: { ...mode, ...params } } };
    return { result: { resultType: 'input_required', inputRequests, requestState: state } };
  }
  if (requestState === undefined) throw new RpcError(-32602, 'No requestState');
  return { reply: inputResponses.input };
}

const asker = (description, method, params) => ({
  description,
  inputSchema: schema({ first: { type: 'string', description: 'A line appended before the client is asked.' } }),
  async run(args, call) {
    if (args.first !== undefined && call.params.inputResponses === undefined) {
      effect({ file: args.file, line: args.first });
    }
    const { reply, result } = await ask(call, method, params);
    if (result) return result;
    effect(args);
    await until(args.answerWhen);
    return text(JSON.stringify(reply));
  },
});

export const asking = {
  elicit: asker('Asks the user, then has its effect.', 'elicitation/create', elicitation),
  sample: asker("Asks the client's model, then has its effect.", 'sampling/createMessage', sampling),
  ask: asker('The same as elicit, under the name of the modern tests.', 'elicitation/create', elicitation),
};
