// Colours for code: comments, strings, numbers, keywords and calls, by one pattern a family of languages. Not a grammar: what it does
// not know stays plain.
import {element} from './dom.js';

const MAX_LENGTH = 60000;  // beyond that colours cost more than they tell
const words = (text) => new Set(text.split(' '));

const C_WORDS = 'auto break case catch char class const constexpr continue default delete do double else enum explicit export extern false ' +
  'final float for friend goto if inline int long namespace new noexcept nullptr operator override private protected public return short signed ' +
  'sizeof static struct switch template this throw true try typedef typename union unsigned using virtual void volatile while bool size_t ' +
  'uint8_t uint32_t uint64_t int32_t int64_t';
const KEYWORDS = {
  c: words(C_WORDS),
  java: words(`${C_WORDS} abstract boolean byte extends implements import instanceof interface null package super synchronized throws var record ` +
    'string decimal foreach in is async await namespace out ref sealed virtual fun val when object data companion'),
  js: words('as async await break case catch class const continue default delete do else export extends false finally for from function get if ' +
    'implements import in instanceof interface let new null of private public readonly return set static super switch this throw true try type ' +
    'typeof undefined var void while yield number string boolean any unknown never enum declare'),
  python: words('False None True and as assert async await break class continue def del elif else except finally for from global if import in is ' +
    'lambda match case nonlocal not or pass raise return self try while with yield'),
  rust: words('as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut pub ref return ' +
    'self Self static struct super trait true type unsafe use where while bool char f32 f64 i32 i64 u8 u32 u64 usize str String Vec Option Result'),
  go: words('break case chan const continue default defer else fallthrough for func go goto if import interface map package range return select ' +
    'struct switch type var nil true false string int int64 bool byte error make append len'),
  shell: words('if then else elif fi for in do done while until case esac function return local export set unset exit source echo cd sudo'),
  sql: words('select from where and or not in is null insert into values update set delete create table index view drop alter add primary key ' +
    'foreign references join left right inner outer on group by order having limit offset distinct as union all case when then else end count sum avg ' +
    'min max with exists between like default unique check'),
  ruby: words('alias and begin break case class def do else elsif end ensure false for if in module next nil not or redo rescue retry return self ' +
    'super then true undef unless until when while yield require puts attr_accessor'),
  data: words('true false null yes no on off'),
  none: new Set(),
};

const STRINGS = String.raw`"(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?`;
const NUMBERS = String.raw`\b(?:0[xX][0-9a-fA-F_]+|\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?)\w*`;
const NAMES = String.raw`[A-Za-z_$][\w$]*`;
const pattern = (comment, string = STRINGS) => new RegExp(`(${comment})|(${string})|(${NUMBERS})|(${NAMES})`, 'gs');
const SLASHES = String.raw`\/\/[^\n]*|\/\*.*?(?:\*\/|$)`;
const HASH = String.raw`#[^\n]*`;
const BACKTICKS = '`(?:[^`\\\\]|\\\\.)*`?';

const FAMILIES = {
  c: [pattern(`${SLASHES}|^#\\w[^\n]*`), KEYWORDS.c],
  java: [pattern(SLASHES), KEYWORDS.java],
  js: [pattern(SLASHES, `${BACKTICKS}|${STRINGS}`), KEYWORDS.js],
  python: [pattern(HASH, `"""[^]*?(?:"""|$)|'''[^]*?(?:'''|$)|${STRINGS}`), KEYWORDS.python],
  rust: [pattern(SLASHES, String.raw`"(?:[^"\\]|\\.)*"?|'(?:[^'\\\n]|\\.)'`), KEYWORDS.rust],
  go: [pattern(SLASHES, `\`[^\`]*\`?|${STRINGS}`), KEYWORDS.go],
  shell: [pattern(String.raw`(?<![\w$"'{])#[^\n]*`, String.raw`"(?:[^"\\]|\\.)*"?|'[^']*'?`), KEYWORDS.shell],
  sql: [pattern(String.raw`--[^\n]*|\/\*.*?(?:\*\/|$)`), KEYWORDS.sql],
  ruby: [pattern(HASH), KEYWORDS.ruby],
  data: [pattern(HASH), KEYWORDS.data],
  markup: [pattern(String.raw`<!--.*?(?:-->|$)`, String.raw`"[^"\n]*"|'[^'\n]*'|<\/?[A-Za-z][\w:-]*|\/?>`), KEYWORDS.none],
  css: [pattern(String.raw`\/\*.*?(?:\*\/|$)`), KEYWORDS.none],
};
const LANGUAGES = {
  c: 'c', h: 'c', cc: 'c', cpp: 'c', 'c++': 'c', hpp: 'c', objc: 'c', java: 'java', kotlin: 'java', kt: 'java', cs: 'java', csharp: 'java', 'c#': 'java',
  scala: 'java', swift: 'java', dart: 'java', php: 'java', js: 'js', javascript: 'js', jsx: 'js', ts: 'js', typescript: 'js', tsx: 'js', mjs: 'js',
  py: 'python', python: 'python', python3: 'python', rs: 'rust', rust: 'rust', go: 'go', golang: 'go', sh: 'shell', bash: 'shell', shell: 'shell',
  zsh: 'shell', console: 'shell', dockerfile: 'shell', makefile: 'shell', sql: 'sql', rb: 'ruby', ruby: 'ruby', json: 'data', yaml: 'data', yml: 'data',
  toml: 'data', ini: 'data', html: 'markup', xml: 'markup', svg: 'markup', vue: 'markup', css: 'css', scss: 'css',
};

export function highlight(code, language) {
  const family = Object.hasOwn(LANGUAGES, language) ? FAMILIES[LANGUAGES[language]] : null;
  if (!family || code.length > MAX_LENGTH) return [code];
  const [expression, keywords] = family;
  const lower = LANGUAGES[language] === 'sql';
  const out = [];
  let done = 0;
  for (const found of code.matchAll(expression)) {
    const [text, comment, string, number, name] = found;
    let kind = comment !== undefined ? 'comment' : string !== undefined ? 'string' : number !== undefined ? 'number' : null;
    if (name !== undefined) {
      if (keywords.has(lower ? name.toLowerCase() : name)) kind = 'keyword';
      else if (code[found.index + text.length] === '(') kind = 'function';
    }
    if (!kind) continue;
    if (found.index > done) out.push(code.slice(done, found.index));
    out.push(element('span', {class: kind}, text));
    done = found.index + text.length;
  }
  out.push(code.slice(done));
  return out;
}
