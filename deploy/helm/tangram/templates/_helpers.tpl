{{/* Labels of an object; argument: (list . "manager"). */}}
{{- define "tangram.labels" -}}
{{- $root := index . 0 -}}
{{ include "tangram.selector" . }}
app.kubernetes.io/part-of: tangram
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
{{- end }}

{{/* Labels by which Pods of a component are found; they never change. */}}
{{- define "tangram.selector" -}}
app.kubernetes.io/name: tangram
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{- define "tangram.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{/* Head of the Pod's spec that all components have; arguments: (list . "manager" .Values.manager). */}}
{{- define "tangram.podHead" -}}
{{- $root := index . 0 -}}
{{- $values := index . 2 -}}
serviceAccountName: tangram-{{ index . 1 }}
{{- with $root.Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
priorityClassName: {{ $values.priorityClassName }}
{{- with $values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Replicas of a component on different nodes, where there are as many. */}}
{{- define "tangram.spread" -}}
affinity:
  podAntiAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 100
        podAffinityTerm:
          topologyKey: kubernetes.io/hostname
          labelSelector:
            matchLabels:
              {{- include "tangram.selector" . | nindent 14 }}
{{- end }}

{{/* What a container of a process that needs nothing of the node may do: nothing. */}}
{{- define "tangram.restricted" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end }}

{{- define "tangram.schedulerName" -}}
{{- if eq .Values.scheduler.mode "own" }}{{ .Values.scheduler.name }}{{ else }}default-scheduler{{ end -}}
{{- end }}
