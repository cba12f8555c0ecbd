{{- define "hushgate.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "hushgate.selector" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "hushgate.labels" -}}
{{ include "hushgate.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end }}

{{- define "hushgate.image" -}}
{{- if .image.digest }}{{ .image.repository }}@{{ .image.digest }}
{{- else }}{{ .image.repository }}:{{ .image.tag | default .root.Chart.AppVersion }}
{{- end }}
{{- end }}

{{- /* What every pod has: no token of the API server, no variables of other Services, no root, nothing writable. */ -}}
{{- define "hushgate.pod" -}}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  seccompProfile: { type: RuntimeDefault }
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
volumes:
  - name: tmp
    emptyDir: { medium: Memory, sizeLimit: 64Mi }
{{- end }}

{{- define "hushgate.container" -}}
image: {{ include "hushgate.image" . }}
imagePullPolicy: {{ .image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
volumeMounts:
  - { name: tmp, mountPath: /tmp }
{{- end }}

{{- define "hushgate.podMetadata" -}}
labels: {{- include "hushgate.selector" . | nindent 2 }}
annotations:
  checksum/settings: {{ include (print .root.Template.BasePath "/settings.yaml") .root | sha256sum }}
  {{- with .root.Values.podAnnotations }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

{{- define "hushgate.envFrom" -}}
- configMapRef: { name: {{ include "hushgate.name" .root }}-settings }
- secretRef: { name: {{ .secret }} }
{{- end }}

{{- define "hushgate.spread" -}}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels: {{- include "hushgate.selector" . | nindent 8 }}
{{- end }}

{{- /* A probe by the age of a file: it starts no Python. */ -}}
{{- define "hushgate.fresh" -}}
exec:
  command: ["sh", "-c", {{ printf "[ -n \"$(find %s -newermt '%d seconds ago' 2>/dev/null)\" ]" .file (int .seconds) | quote }}]
{{- end }}
