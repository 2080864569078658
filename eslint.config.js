import tseslint from 'typescript-eslint';

export default tseslint.config(
  {
    ignores: [
      'dist',
      'src/core/generated',
      'node_modules',
      'scripts',
      'bench',
      'bin',
      '*.js',
      'vitest.config.ts',
      'test/agents/*.mjs',
      '.dependency-cruiser.cjs',
    ],
  },
  ...tseslint.configs.strictTypeChecked,
  { languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } } },
  {
    rules: {
      '@typescript-eslint/no-non-null-assertion': 'error',
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-unnecessary-condition': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: false }],
      '@typescript-eslint/no-unused-vars': [
        'error',
        { ignoreRestSiblings: true, destructuredArrayIgnorePattern: '^_', argsIgnorePattern: '^_' },
      ],
      eqeqeq: ['error', 'always', { null: 'ignore' }],
      'no-restricted-globals': ['error', 'process'],
      'no-restricted-syntax': [
        'error',
        { selector: "MemberExpression[object.name='Date'][property.name='now']", message: 'the clock is a port' },
        { selector: "NewExpression[callee.name='Date'][arguments.length=0]", message: 'the clock is a port' },
        { selector: "MemberExpression[object.name='Math'][property.name='random']", message: 'randomness is a port' },
      ],
      'max-lines': ['error', { max: 250, skipBlankLines: false, skipComments: false }],
    },
  },
  {
    files: ['src/cli/**', 'src/program.ts', 'src/providers/**', 'test/**'],
    rules: { 'no-restricted-globals': 'off', 'no-restricted-syntax': 'off' },
  },
  {
    files: ['test/**'],
    rules: { 'max-lines': ['error', { max: 400 }] },
  },
);
